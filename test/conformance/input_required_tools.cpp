// Tools and a prompt that end a call with an input-required result (SEP-2322).
#include "test/conformance/fixture_tool.hpp"
#include "test/conformance/fixtures.hpp"

#include "mcp/input_required.hpp"

namespace cmcp::fixture {

namespace {

json::object input_question(std::string_view method, json::object params)
{
    json::object question;
    question["method"] = method;
    question["params"] = std::move(params);
    return question;
}

json::object elicitation_question(std::string_view message, std::string_view field, std::string_view type)
{
    json::object params;
    params["message"] = message;
    params["requestedSchema"] = form_with(field, type);
    return input_question("elicitation/create", std::move(params));
}

json::object sampling_question(std::string prompt, int max_tokens)
{
    json::object message;
    message["role"] = "user";
    message["content"] = text_block(std::move(prompt));
    json::object params;
    params["messages"] = json::array{std::move(message)};
    params["maxTokens"] = max_tokens;
    return input_question("sampling/createMessage", std::move(params));
}

json::object roots() { return input_question("roots/list", {}); }

bool answered(const tool_context& context, std::string_view key) { return context.input_responses.contains(key); }

std::string answer_text(const tool_context& context, std::string_view key)
{
    return json::serialize(context.input_responses.at(key));
}

// The member of an elicitation_question's content.
std::string field_of(const tool_context& context, std::string_view key, std::string_view field)
{
    const auto& answer = context.input_responses.at(key).as_object();
    const auto* content = answer.if_contains("content");
    const auto* value = content && content->is_object() ? content->get_object().if_contains(field) : nullptr;
    return value && value->is_string() ? std::string(value->get_string()) : "stranger";
}

awaitable<tool_result> ask_name(tool_context& context, json::object)
{
    if (!answered(context, "user_name")) {
        input_required questions;
        questions.input_requests["user_name"] = elicitation_question("What is your name?", "name", "string");
        throw questions;
    }
    co_return text_result("Hello, " + field_of(context, "user_name", "name") + "!");
}

awaitable<tool_result> ask_model(tool_context& context, json::object)
{
    if (!answered(context, "capital_question")) {
        input_required questions;
        questions.input_requests["capital_question"] = sampling_question("What is the capital of France?", 100);
        throw questions;
    }
    co_return text_result(answer_text(context, "capital_question"));
}

awaitable<tool_result> ask_roots(tool_context& context, json::object)
{
    if (!answered(context, "client_roots")) {
        input_required questions;
        questions.input_requests["client_roots"] = roots();
        throw questions;
    }
    co_return text_result("Client roots: " + answer_text(context, "client_roots"));
}

awaitable<tool_result> keep_state(tool_context& context, json::object)
{
    if (context.request_state != "waiting" || !answered(context, "confirm")) {
        input_required questions;
        questions.input_requests["confirm"] = elicitation_question("Please confirm", "ok", "boolean");
        questions.request_state = "waiting";
        throw questions;
    }
    co_return text_result("state-ok");
}

awaitable<tool_result> ask_all(tool_context& context, json::object)
{
    const bool complete =
        answered(context, "user_name") && answered(context, "greeting") && answered(context, "client_roots");
    if (!complete) {
        input_required questions;
        questions.input_requests["user_name"] = elicitation_question("What is your name?", "name", "string");
        questions.input_requests["greeting"] = sampling_question("Generate a greeting", 50);
        questions.input_requests["client_roots"] = roots();
        questions.request_state = "all";
        throw questions;
    }
    co_return text_result("All inputs: " + json::serialize(context.input_responses));
}

awaitable<tool_result> two_rounds(tool_context& context, json::object)
{
    input_required questions;
    if (context.request_state.empty() || !(answered(context, "step1") || answered(context, "step2"))) {
        questions.input_requests["step1"] = elicitation_question("Step 1: What is your name?", "name", "string");
        questions.request_state = "round-1";
        throw questions;
    }
    if (context.request_state == "round-1") {
        questions.input_requests["step2"] =
            elicitation_question("Step 2: What is your favorite color?", "color", "string");
        questions.request_state = "round-2:" + field_of(context, "step1", "name");
        throw questions;
    }
    co_return text_result(context.request_state.substr(8) + " likes " + field_of(context, "step2", "color"));
}

awaitable<tool_result> only_declared(tool_context& context, json::object)
{
    if (!context.input_responses.empty()) co_return text_result(json::serialize(context.input_responses));
    const auto& declared = context.who.client_capabilities;
    input_required questions;
    if (declared.contains("elicitation"))
        questions.input_requests["name"] = elicitation_question("Your name?", "name", "string");
    if (declared.contains("sampling"))
        questions.input_requests["greeting"] = sampling_question("Generate a greeting", 50);
    if (declared.contains("roots")) questions.input_requests["roots"] = roots();
    if (questions.input_requests.empty()) co_return text_result("the client declared nothing that could be asked");
    throw questions;
}

class asking_prompt final : public prompt {
public:
    json::object definition() const override
    {
        json::object described;
        described["name"] = "test_input_required_result_prompt";
        described["description"] = "Asks for its context";
        return described;
    }

    awaitable<json::object> get(tool_context& context, json::object) override
    {
        if (!answered(context, "user_context")) {
            input_required questions;
            questions.input_requests["user_context"] =
                elicitation_question("What context should the prompt use?", "context", "string");
            throw questions;
        }
        json::object message;
        message["role"] = "user";
        message["content"] = text_block("Use this context: " + field_of(context, "user_context", "context"));
        json::object result;
        result["messages"] = json::array{std::move(message)};
        co_return result;
    }
};

}  // namespace

void add_input_required_tools(server_core& core)
{
    auto& tools = core.tools();
    const std::string name = "test_input_required_result_";
    tools.add(make_tool(name + "elicitation", "Asks for a name", ask_name));
    tools.add(make_tool(name + "sampling", "Asks the client's model", ask_model));
    tools.add(make_tool(name + "list_roots", "Asks for the client's roots", ask_roots));
    tools.add(make_tool(name + "request_state", "Hands its state to the client", keep_state));
    tools.add(make_tool(name + "multiple_inputs", "Asks three things at once", ask_all));
    tools.add(make_tool(name + "multi_round", "Asks in two rounds", two_rounds));
    tools.add(make_tool(name + "tampered_state", "Notices a forged state", keep_state));
    tools.add(make_tool(name + "capabilities", "Asks only what the client can answer", only_declared));
    core.add_prompt(std::make_unique<asking_prompt>());
}

}  // namespace cmcp::fixture
