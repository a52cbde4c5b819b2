#include "mcp/modern_calls.hpp"

#include "jsonrpc/write_json.hpp"
#include "mcp/attempt_state.hpp"
#include "mcp/methods.hpp"
#include "mcp/params.hpp"
#include "mcp/task_channel.hpp"
#include "mcp/tasks_extension.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

namespace cmcp {

namespace {

bool may_ask(std::string_view method)
{
    return method == "tools/call" || method == "prompts/get" || method == "resources/read";
}

void check_questions(const caller& who, const json::object& questions)
{
    for (const auto& member : questions) {
        const auto& question = member.value().as_object();
        require_capability(who, question.at("method").as_string(), optional_object(question, "params"));
    }
}

void add_answers(json::object& known, const json::object& answers)
{
    for (const auto& member : answers) known[member.key()] = member.value();
}

std::unique_ptr<modern_channel> channel(modern_channel ordinary, std::shared_ptr<task_call> becoming)
{
    if (!becoming) return std::make_unique<modern_channel>(std::move(ordinary));
    return std::make_unique<task_channel>(std::move(ordinary), std::move(becoming));
}

// The arguments are the owner's own: they tell its tasks apart.
job_record description_of(const modern_request& incoming)
{
    job_record description;
    description.owner = incoming.who.principal;
    description.tool = std::string(incoming.params.at("name").as_string());
    description.label = job_label(jsonrpc::write_json(optional_object(incoming.params, "arguments")));
    return description;
}

// A caller that asked for progress watches its stream, which a task would end.
std::chrono::milliseconds patience(const modern_request& incoming, const task_limits& limits)
{
    return incoming.meta().contains("progressToken") ? std::chrono::milliseconds(0) : limits.after;
}

json::object result_of(outcome ending)
{
    if (ending.error) throw *ending.error;
    if (!ending.result) throw boost::system::system_error(asio::error::operation_aborted);
    return std::move(*ending.result);
}

}  // namespace

bool modern_calls::may_become_task(const modern_request& incoming) const
{
    if (incoming.method != "tools/call" || !declares_tasks(incoming.who)) return false;
    const auto* name = incoming.params.if_contains("name");
    if (!name || !name->is_string()) return false;
    const auto* called = offered_.tools.find(std::string_view(name->get_string()));
    return called && called->definition().tasks != task_use::never;
}

awaitable<json::object> modern_calls::run(std::shared_ptr<modern_request> incoming, std::shared_ptr<message_sink> reply,
                                          std::shared_ptr<running_request> running)
{
    if (may_become_task(*incoming)) return run_detachable(std::move(incoming), std::move(reply), std::move(running));
    return attempt(std::move(incoming), std::move(reply), std::move(running), nullptr, nullptr);
}

awaitable<json::object> modern_calls::run_detachable(std::shared_ptr<modern_request> incoming,
                                                     std::shared_ptr<message_sink> reply,
                                                     std::shared_ptr<running_request> outer)
{
    auto running = std::make_shared<running_request>();
    running->ids = outer->ids;
    running->method = outer->method;
    running->target = outer->target;
    running->trace = outer->trace;
    running->who = outer->who;
    running->may_become_task = true;
    auto call = std::make_shared<task_call>(tasks_, description_of(*incoming), running);
    auto work = attempt(incoming, std::move(reply), running, call, keep_alive_());
    tasks_.jobs().run(incoming->method, task_call::carry_out(call, std::move(work)));
    co_await call->wait(patience(*incoming, tasks_.limits()));
    if (call->became()) {
        const auto record = call->became()->record();
        outer->task = record.id;
        auto result = tasks_.describe(record);
        result["resultType"] = "task";
        co_return result;
    }
    outer->facts = std::move(running->facts);
    co_return result_of(call->take_ending());
}

awaitable<json::object> modern_calls::attempt(std::shared_ptr<modern_request> incoming,
                                              std::shared_ptr<message_sink> reply,
                                              std::shared_ptr<running_request> running,
                                              std::shared_ptr<task_call> becoming, std::shared_ptr<void>)
{
    attempt_state state;
    if (may_ask(incoming->method)) state = attempt_state::from(*incoming, states_);
    modern_channel ordinary(incoming->who, std::move(reply), &incoming->meta(), incoming->log_level, state.answers);
    const auto io = channel(std::move(ordinary), std::move(becoming));
    method_call call{incoming->who, incoming->params, *io, *running, state.answers, state.tool_state};
    const auto function = find_shared_method(incoming->method);
    for (;;) {
        input_required asked;
        try {
            json::object result = co_await function(offered_, call);
            co_return result;
        } catch (const input_required& needed) {
            asked = needed;
        }
        check_questions(incoming->who, asked.input_requests);
        auto answers = co_await io->ask_in_place(asked.input_requests);
        if (!answers) co_return input_required_result(*incoming, asked, io->used(), states_);
        add_answers(call.input_responses, *answers);
        call.request_state = asked.request_state;
    }
}

}  // namespace cmcp
