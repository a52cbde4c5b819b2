#include "tools/interpreter_tool.hpp"

namespace cmcp {

tool_result interpreter_tool::interpreter_refusal(const std::string& type, const std::string& sentence)
{
    auto made = sandbox_failure(type, sentence);
    made.structured["status"] = "error";
    made.structured["message"] = sentence;
    return made;
}

json::object interpreter_schema(schema::properties members, schema::names required)
{
    auto made = schema::output(members, required);
    json::object& all = made["properties"].as_object();
    all["status"] = schema::one_of("Whether it worked", {"success", "error"});
    all["error_type"] = schema::string("StateError, ExecutionError, NotFound, InvalidArgument, …");
    all["message"] = schema::string("What happened, and what to do about an error");
    return made;
}

}  // namespace cmcp
