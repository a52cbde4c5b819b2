#include "mcp/tasks/job_attempt.hpp"

#include "jsonrpc/read_object.hpp"
#include "jsonrpc/rpc_error.hpp"
#include "mcp/params.hpp"
#include "mcp/tool.hpp"

#include <boost/system/system_error.hpp>

#include <chrono>

namespace cmcp {
namespace {

constexpr std::chrono::seconds heartbeat{10};

[[noreturn]] void refuse_unknown_call()
{
    throw rpc_error(rpc_code::invalid_params,
                    "Invalid params: the call that `requestState` belongs to is no longer known: start over without "
                    "it");
}

// The end of a call that has gone on in a job.
awaitable<json::object> result_of_job(const task_view& tasks, job_record ended)
{
    auto result = co_await tasks.jobs().read(ended.owner, std::move(ended.result));
    if (!result.empty()) co_return result;
    const auto error = jsonrpc::read_object(ended.error);
    if (error.empty())
        throw rpc_error(rpc_code::server_error, ended.message.empty() ? "the call was cancelled" : ended.message);
    const auto* data = error.if_contains("data");
    throw rpc_error(static_cast<int>(error.at("code").to_number<std::int64_t>()),
                    std::string(cmcp::view_of(error, "message")), data ? std::optional(*data) : std::nullopt);
}

void note_facts(call_facts& facts, const json::object& result)
{
    tool_result shown;
    shown.structured = object_of(result, "structuredContent");
    shown.is_error = flag_of(result, "isError");
    facts.note_result(shown);
    facts.bytes = call_facts::bytes_in(result);
}

// A client that resets its timeout by progress hears that the call goes on.
awaitable<> wait_with_heartbeat(std::shared_ptr<job> live, request_io& io)
{
    const auto began = event::clock::now();
    while (!live->ended() && !live->waits_for_owner()) {
        const bool changed = co_await live->wait(event::clock::now() + heartbeat);
        const std::chrono::duration<double, std::milli> passed = event::clock::now() - began;
        std::string no_message;
        if (!changed) co_await io.progress(passed.count(), std::nullopt, std::move(no_message));
    }
}

// Ends the job when the request is cancelled, as a call ends with its request.
awaitable<> wait_for_turn(std::shared_ptr<job> live, request_io& io)
{
    bool cancelled = false;
    try {
        co_await wait_with_heartbeat(live, io);
    } catch (const boost::system::system_error&) {
        cancelled = true;
    }
    if (!cancelled) co_return;
    live->cancel("killed", "cancelled by the client");
    throw boost::system::system_error(asio::error::operation_aborted);
}

}  // namespace

awaitable<json::object> wait_for_job(const task_view& tasks, stateless_request& request, std::string id,
                                     const request_state& seal)
{
    request.task = id;
    const auto live = tasks.jobs().running(id);
    modern_channel beside(request.own, request.reply, meta_of(request.params), request.log_level, {});
    if (live) co_await wait_for_turn(live, beside);
    if (!live || live->ended()) {
        const auto record = live ? std::optional(live->record()) : tasks.jobs().find(id);
        if (!record) refuse_unknown_call();
        auto result = co_await result_of_job(tasks, *record);
        note_facts(request.facts, result);
        co_return result;
    }
    input_required needed;
    needed.input_requests = live->open_input_requests();
    needed.job = std::move(id);
    const json::object nothing_used;
    co_return input_required_result(request, needed, nothing_used, seal);
}

awaitable<json::object> go_on(const task_view& tasks, stateless_request& request, attempt_state state,
                              const request_state& seal)
{
    const auto record = tasks.jobs().find(state.job);
    if (!record || record->owner != request.own.principal) refuse_unknown_call();
    if (const auto live = tasks.jobs().running(state.job)) live->answer(state.answers);
    return wait_for_job(tasks, request, std::move(state.job), seal);
}

}  // namespace cmcp
