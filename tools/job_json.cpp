#include "tools/job_json.hpp"

#include "jsonrpc/read_object.hpp"
#include "tools/sandbox_tool.hpp"
#include "tools/schema.hpp"

namespace cmcp {

json::object job_json(const job_record& of)
{
    json::object made;
    made["job_id"] = of.id;
    made["state"] = of.state;
    made["tool"] = of.tool;
    made["label"] = of.label;
    if (!of.sandbox.empty()) made["sandbox_id"] = of.sandbox;
    made["created"] = time_text(of.created);
    if (of.ended != 0) made["ended"] = time_text(of.ended);
    return made;
}

json::object job_result(const job_record& of)
{
    auto result = jsonrpc::read_object(of.result);
    auto* structured = result.if_contains("structuredContent");
    return structured != nullptr ? std::move(structured->as_object()) : json::object();
}

json::object job_properties()
{
    json::object made;
    made["job_id"] = job_id_schema();
    made["state"] = schema::one_of("finished: it ended by itself; lost: the server ended while it ran",
                                   {"running", "finished", "killed", "failed", "lost"});
    made["tool"] = schema::string("The tool that began it");
    made["label"] = schema::string("The beginning of what runs");
    made["sandbox_id"] = schema::string("Where it runs; left out: in your workspace");
    made["created"] = schema::string("ISO 8601, UTC");
    made["ended"] = schema::string("ISO 8601, UTC");
    return made;
}

}  // namespace cmcp
