#include "tools/sandbox_tool.hpp"

#include "text/time_text.hpp"

#include <cmath>
#include <ctime>

namespace cmcp {

namespace {

field<sandbox_input> handle_field(std::string_view description)
{
    return {"sandbox_id", &sandbox_input::sandbox_id, description, json::object{{"x-mcp-header", "Sandbox-Id"}}};
}

}  // namespace

field<sandbox_input> sandbox_id_field()
{
    auto handle = handle_field("Handle or name of a sandbox, as create_sandbox and list_sandboxes give it");
    handle.required = true;
    return handle;
}

field<sandbox_input> latest_sandbox_id_field()
{
    return handle_field("Handle of a sandbox; your latest one when left out");
}

sandbox_record named_or_latest(sandbox_manager& sandboxes, const caller& who, const std::string& id)
{
    return id.empty() ? sandboxes.latest(who) : sandboxes.find(who, id);
}

json::object sandbox_json(const sandbox_record& record)
{
    json::object shown;
    shown["sandbox_id"] = record.id;
    shown["name"] = record.name;
    shown["status"] = record.status;
    shown["image"] = record.image;
    shown["created"] = time_text(record.created);
    shown["last_used"] = time_text(record.last_used);
    shown["disk_bytes"] = record.disk;
    return shown;
}

std::string time_text(double seconds)
{
    return utc_text(static_cast<std::time_t>(std::floor(seconds)), "%Y-%m-%dT%H:%M:%SZ");
}

json::object interpreter_schema(schema::properties members, schema::names required)
{
    auto output = schema::output(members, required);
    json::object& all = output["properties"].as_object();
    all["status"] = schema::one_of("Whether it worked", {"success", "error"});
    all["error_type"] = schema::string("StateError, ExecutionError, NotFound, InvalidArgument, …");
    all["message"] = schema::string("What happened, and what to do about an error");
    return output;
}

}  // namespace cmcp
