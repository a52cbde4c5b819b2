#include "tools/described_tool.hpp"

#include "files/file_error.hpp"
#include "runs/sandbox_error.hpp"
#include "store/database.hpp"

#include <algorithm>

namespace cmcp {

tool_result sandbox_refusal(std::string_view type, const std::string& sentence)
{
    auto result = tool_failure(sentence);
    result.structured["error_type"] = type.empty() ? "InvalidArgument" : type;
    return result;
}

tool_result file_refusal(std::string_view type, const std::string& sentence)
{
    return sandbox_refusal(type.empty() ? "ToolFailed" : type, sentence);
}

tool_result interpreter_refusal(std::string_view type, const std::string& sentence)
{
    auto result = sandbox_refusal(type, sentence);
    result.structured["status"] = "error";
    result.structured["message"] = sentence;
    return result;
}

tool_result answer_of(json::object structured)
{
    tool_result result;
    result.structured = std::move(structured);
    return result;
}

awaitable<tool_result> with_refusals(awaitable<tool_result> work, refusal_form refuse)
{
    std::string type, sentence;
    try {
        auto result = co_await std::move(work);
        co_return result;
    } catch (const sandbox_error& refused) {
        type = refused.type;
        sentence = refused.what();
    } catch (const file_missing& refused) {
        type = "NotFound";
        sentence = refused.what();
    } catch (const file_error& refused) {
        sentence = refused.what();
    } catch (const database_error& refused) {
        type = "SandboxError";
        sentence = std::string("The store of sandboxes does not work (") + refused.what() +
                   "); check the disk that SANDBOX_ROOT is on.";
    }
    co_return refuse(type, sentence);
}

}  // namespace cmcp

namespace cmcp::schema {

json::array list(names values)
{
    json::array all;
    for (auto value : values) all.emplace_back(json::string_view(value.data(), value.size()));
    return all;
}

json::object typed(std::string_view type, std::string_view description, const json::object& keywords)
{
    json::object schema{{"type", type}};
    if (!description.empty()) schema["description"] = description;
    schema.insert(keywords.begin(), keywords.end());
    return schema;
}

json::object string(std::string_view description) { return typed("string", description); }
json::object boolean(std::string_view description) { return typed("boolean", description); }
json::object any(std::string_view description) { return {{"description", description}}; }

json::object array(std::string_view description, json::object items)
{
    return typed("array", description, {{"items", std::move(items)}});
}

json::object object(std::string_view description, properties members, names required)
{
    auto schema = typed("object", description);
    auto& all = schema["properties"].emplace_object();
    for (const auto& [name, member] : members) all[name] = member;
    if (required.size() != 0) schema["required"] = list(required);
    return schema;
}

json::object one_of(std::string_view description, names values)
{
    return typed("string", description, {{"enum", list(values)}});
}

json::object output(properties members, names required)
{
    auto schema = object({}, members);
    auto& all = schema["properties"].as_object();
    const bool tells_success = std::ranges::find(required, "success") != required.end();
    if (tells_success && !all.contains("success")) all["success"] = boolean("Whether it worked");
    if (!all.contains("error")) all["error"] = string("What went wrong and what to do");
    json::object failed;
    failed["properties"] = json::object{{"success", json::object{{"const", false}}}};
    failed["required"] = json::array{"success", "error"};
    schema["anyOf"] = json::array{json::object{{"required", list(required)}}, std::move(failed)};
    return schema;
}

}  // namespace cmcp::schema

namespace cmcp {

namespace {

bool says_nothing(const json::value& value)
{
    return value.is_null() || value == json::value(false) || value == json::value("");
}

}  // namespace

json::object lean_schema(json::object schema, bool with_examples)
{
    for (const char* keyword :
         {"minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "maxItems", "additionalProperties"})
        schema.erase(keyword);
    if (!with_examples) schema.erase("examples");
    const auto* usual = schema.if_contains("default");
    if (usual && says_nothing(*usual)) schema.erase("default");
    if (auto* properties = schema.if_contains("properties"))
        for (auto& each : properties->as_object()) each.value() = lean_schema(each.value().as_object());
    if (auto* items = schema.if_contains("items")) *items = lean_schema(items->as_object());
    return schema;
}

json::object rule::one_of(schema::names values) { return {{"enum", schema::list(values)}}; }

json::object rule::example(json::value value) { return {{"examples", json::array{std::move(value)}}}; }

json::object rule::header(std::string_view name) { return {{"x-mcp-header", name}}; }

json::object rule::time_limit(std::string_view description)
{
    return {{"exclusiveMinimum", 0}, {"description", description}};
}

}  // namespace cmcp
