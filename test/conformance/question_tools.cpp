// Tools that ask the client something by request_io::ask.
#include "test/conformance/fixture_tool.hpp"
#include "test/conformance/fixtures.hpp"

namespace cmcp::fixture {

namespace {

json::object sampling_params(std::string prompt, int max_tokens)
{
    json::object message;
    message["role"] = "user";
    message["content"] = text_block(std::move(prompt));
    json::array messages;
    messages.push_back(std::move(message));
    json::object params;
    params["messages"] = std::move(messages);
    params["maxTokens"] = max_tokens;
    return params;
}

std::string sampled_text(const json::object& answer)
{
    const auto* content = answer.if_contains("content");
    const auto* text = content && content->is_object() ? content->get_object().if_contains("text") : nullptr;
    return text && text->is_string() ? std::string(text->get_string()) : "(no text)";
}

json::object elicitation_params(std::string message, json::object schema)
{
    json::object params;
    params["message"] = std::move(message);
    params["requestedSchema"] = std::move(schema);
    return params;
}

std::string describe_elicitation(const json::object& answer)
{
    const auto* action = answer.if_contains("action");
    const auto* content = answer.if_contains("content");
    return "action=" + (action && action->is_string() ? std::string(action->get_string()) : "unknown") +
           ", content=" + (content ? json::serialize(*content) : "{}");
}

awaitable<tool_result> sampling(tool_context& context, json::object arguments)
{
    std::string prompt(arguments.at("prompt").as_string());
    auto params = sampling_params(std::move(prompt), 100);
    json::object answer = co_await context.io.ask("sampling", "sampling/createMessage", std::move(params));
    co_return text_result("LLM response: " + sampled_text(answer));
}

awaitable<tool_result> elicit(tool_context& context, std::string message, json::object schema, std::string lead)
{
    auto params = elicitation_params(std::move(message), std::move(schema));
    json::object answer = co_await context.io.ask("elicitation", "elicitation/create", std::move(params));
    co_return text_result(lead + describe_elicitation(answer));
}

awaitable<tool_result> elicitation(tool_context& context, json::object arguments)
{
    auto schema = json::parse(R"({"type":"object","properties":{
        "username":{"type":"string","description":"User's response"},
        "email":{"type":"string","description":"User's email address"}},"required":["username","email"]})");
    std::string message(arguments.at("message").as_string());
    return elicit(context, std::move(message), schema.as_object(), "User response: ");
}

awaitable<tool_result> elicitation_defaults(tool_context& context, json::object)
{
    auto schema = json::parse(R"({"type":"object","properties":{
        "name":{"type":"string","description":"User name","default":"John Doe"},
        "age":{"type":"integer","description":"User age","default":30},
        "score":{"type":"number","description":"User score","default":95.5},
        "status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},
        "verified":{"type":"boolean","description":"Verification status","default":true}},"required":[]})");
    return elicit(context, "Please review and update the form fields with defaults", schema.as_object(),
                  "Elicitation completed: ");
}

awaitable<tool_result> elicitation_enums(tool_context& context, json::object)
{
    auto schema = json::parse(R"({"type":"object","properties":{
        "untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
        "titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},
            {"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
        "legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],
            "enumNames":["Option One","Option Two","Option Three"]},
        "untitledMulti":{"type":"array","minItems":1,"maxItems":3,
            "items":{"type":"string","enum":["option1","option2","option3"]}},
        "titledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"anyOf":[
            {"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},
            {"const":"value3","title":"Third Choice"}]}}},"required":[]})");
    return elicit(context, "Please select options from the enum fields", schema.as_object(), "Elicitation completed: ");
}

awaitable<tool_result> streaming_elicitation(tool_context& context, json::object)
{
    return elicit(context, "What is your name?", form_with("name", "string"), "User response: ");
}

awaitable<tool_result> missing_capability(tool_context& context, json::object)
{
    auto params = sampling_params("Hello", 10);
    json::object answer = co_await context.io.ask("sampling", "sampling/createMessage", std::move(params));
    co_return text_result(sampled_text(answer));
}

}  // namespace

void add_question_tools(server_core& core)
{
    auto& tools = core.tools();
    tools.add(make_tool("test_sampling", "Asks the client's model", sampling,
                        R"({"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]})"));
    tools.add(make_tool("test_elicitation", "Asks the user", elicitation,
                        R"({"type":"object","properties":{"message":{"type":"string"}},"required":["message"]})"));
    tools.add(make_tool("test_elicitation_sep1034_defaults", "Asks with default values", elicitation_defaults));
    tools.add(make_tool("test_elicitation_sep1330_enums", "Asks with enums", elicitation_enums));
    tools.add(make_tool("test_streaming_elicitation", "Asks the user for a name", streaming_elicitation));
    tools.add(make_tool("test_missing_capability", "Needs the sampling capability", missing_capability));
}

}  // namespace cmcp::fixture
