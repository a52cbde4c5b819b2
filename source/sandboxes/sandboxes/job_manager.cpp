#include "sandboxes/job_manager.hpp"

#include "async/uncancelled.hpp"
#include "audit/sink.hpp"
#include "files/file_error.hpp"
#include "log/log.hpp"
#include "mcp/call_facts.hpp"
#include "mcp/definitions.hpp"
#include "mcp/tasks/job_io.hpp"
#include "mcp/tasks/outliving_io.hpp"
#include "runs/sandbox_error.hpp"
#include "store/database.hpp"
#include "wire/run_result.hpp"

#include <boost/asio/this_coro.hpp>

namespace cmcp {

using boost::system::system_error;

namespace {

constexpr std::size_t kept_ended = 4;  // times the jobs that may run at once
constexpr std::chrono::milliseconds most_until_decided(250);

awaitable<> wait_until_decided(std::shared_ptr<job> begun)
{
    const auto limit = event::clock::now() + most_until_decided;
    while (!begun->decided() && !begun->ended() && event::clock::now() < limit) co_await begun->wait(limit);
}

void record_job_end(const job& ended, const std::string& request, std::chrono::steady_clock::time_point began,
                    const tool_result& result, std::string_view state)
{
    const auto& record = ended.record();
    call_facts facts;
    facts.note_result(result);
    const log::fields fields{{"request", request},
                             {"principal", log::unless_empty(record.owner)},
                             {"tool", record.tool},
                             {"sandbox", log::unless_empty(record.sandbox)},
                             {"job", record.id},
                             {"state", state},
                             {"cause", facts.ending()},
                             {"error_type", log::unless_empty(facts.error_type)},
                             {"exit_code", facts.exit_code},
                             {"ms", std::chrono::steady_clock::now() - began},
                             {"bytes", ended.output_size()}};
    log::info("job_ended", fields);
    audit::add(audit::kind::job, fields);
}

// A run that was lost with the launcher is as lost as one that was lost with the server.
std::string state_of(const tool_result& result)
{
    const auto* why = result.structured.if_contains("cause");
    return why != nullptr && *why == json::value(to_string(sandbox::cause::lost)) ? "lost" : "finished";
}

// The record's message says who ended it.
tool_result cancelled_result(const std::string& state, const job_record& ended)
{
    auto result = tool_failure(state == "killed" ? "The job was " + ended.message + "."
                                                 : "The server stopped while the job ran.");
    result.structured["cause"] = "cancelled";
    return result;
}

}  // namespace

bool job_manager::has_room(const std::string& principal) const
{
    return jobs_.running_untimed(principal) < limits_.of(principal).jobs;
}

std::shared_ptr<job> job_manager::make(const std::string& principal, new_job description,
                                       std::shared_ptr<canceller> ends)
{
    job_record record;
    record.owner = principal;
    record.sandbox = std::move(description.sandbox);
    record.tool = std::move(description.tool);
    record.label = job_label(description.label);
    auto added = jobs_.add(std::move(record), std::move(ends));
    if (description.kept_output != 0) added->keep_latest(description.kept_output);
    jobs_.forget_old(principal, limits_.of(principal).jobs * kept_ended);
    return added;
}

awaitable<job_view> job_manager::start(caller who, new_job description, work begins)
{
    if (!has_room(who.principal))
        throw sandbox_error("QuotaExceeded", "As many jobs run as " +
                                                 limits_.refusal_in_words(who.principal, &principal_limits::jobs) +
                                                 "; wait for one with job_poll, or end one with job_kill.");
    auto request = description.request;
    auto ends = std::make_shared<canceller>();
    const auto added = make(who.principal, std::move(description), ends);
    jobs_.run("job", run(added, std::move(request), std::move(begins)), ends);
    auto decision = wait_until_decided(added);
    co_await uncancelled(std::move(decision));  // the caller is to learn the id
    job_view view;
    view.record = added->record();
    view.queue_position = added->queue_position();
    co_return view;
}

awaitable<> job_manager::run(std::shared_ptr<job> running, std::string request, work begins)
{
    const auto began = std::chrono::steady_clock::now();
    job_io io(jobs_, running);
    tool_result result;
    std::exception_ptr failure;
    try {
        result = co_await begins(io);
    } catch (...) {
        failure = std::current_exception();
    }
    conclude(*running, request, began, std::move(result), failure);
}

void job_manager::conclude(job& ended, const std::string& request, std::chrono::steady_clock::time_point began,
                           tool_result result, const std::exception_ptr& failure)
{
    const auto id = ended.record().id;
    std::string state = "finished";
    try {
        if (failure) std::rethrow_exception(failure);
        state = state_of(result);
    } catch (const sandbox_error& refused) {
        state = "failed";
        result = tool_failure(refused.what());
        result.structured["error_type"] = refused.type;
    } catch (const file_error& refused) {
        state = "failed";
        result = tool_failure(refused.what());
    } catch (const system_error& problem) {
        if (problem.code() != asio::error::operation_aborted)
            log::error("job_failed", {{"request", request}, {"job", id}, {"reason", problem.what()}});
        state = ended.cancelled_as() == "killed" ? "killed" : "lost";
        result = cancelled_result(state, ended.record());
    } catch (const std::exception& problem) {
        log::error("job_failed", {{"request", request}, {"job", id}, {"reason", problem.what()}});
        state = "failed";
        result =
            tool_failure("The run failed in the server (request " + request + "; the server's log has the reason).");
    }
    if (state == "failed" && ended.cancelled_as() == "killed") state = "killed";
    record_job_end(ended, request, began, result, state);
    if (ended_) ended_(ended.record(), result);
    caller latest;
    latest.protocol = revision::v2026_07_28;
    auto kept = describe_tool_result(std::move(result), latest, result_format::automatic, result_reader::program);
    jobs_.finish(ended, std::move(kept), state);
}

/// A call whose work goes on without it when its time is over. Shared by the work and the call that waits for it.
struct job_manager::attended {
    attended(job_register& jobs, request_io& call, outliving_io::job_maker maker) : io(jobs, call, std::move(maker)) {}

    outliving_io io;
    tool_result result;
    std::exception_ptr failure;
    bool over = false;
};

awaitable<job_manager::end_of_call> job_manager::attend(caller who, request_io& io, new_job description, work begins)
{
    auto request = description.request;
    auto ends = std::make_shared<canceller>();
    auto maker = [this, principal = who.principal, description = std::move(description),
                  ends]() mutable -> std::shared_ptr<job> {
        if (jobs_.stopping() || !has_room(principal)) return nullptr;
        try {
            return make(principal, std::move(description), ends);
        } catch (const database_error& problem) {
            log::error("call_becomes_no_job", {{"reason", problem.what()}});
            return nullptr;
        }
    };
    const auto call = std::make_shared<attended>(jobs_, io, std::move(maker));
    jobs_.run("call", carry_out(call, std::move(request), std::move(begins)), ends);
    bool cancelled = false;
    try {
        while (!call->over && !call->io.goes_on()) co_await call->io.wait();
    } catch (const system_error&) {
        cancelled = true;
    }
    if (cancelled) {
        // A cancelled coroutine may not await anything, and the work uses the call's channel.
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        if (const auto& job = call->io.became()) job->cancel("killed", "cancelled by the client");
        ends->cancel();
        while (!call->over) co_await call->io.wait();
        throw system_error(asio::error::operation_aborted);
    }
    end_of_call end;
    if (call->io.goes_on()) {
        end.job = call->io.became()->record();
        end.printed = call->io.printed();
        co_return end;
    }
    if (call->failure) std::rethrow_exception(call->failure);
    end.result = std::move(call->result);
    co_return end;
}

awaitable<> job_manager::carry_out(std::shared_ptr<attended> call, std::string request, work begins)
{
    const auto began = std::chrono::steady_clock::now();
    try {
        auto result = co_await begins(call->io);
        call->result = std::move(result);
    } catch (...) {
        call->failure = std::current_exception();
    }
    if (const auto& job = call->io.became()) conclude(*job, request, began, std::move(call->result), call->failure);
    call->over = true;
    call->io.end();
}

job_record job_manager::owned(const caller& who, const std::string& id)
{
    auto record = jobs_.find(id);
    if (record && record->owner == who.principal && may_use(who, record->sandbox)) return std::move(*record);
    throw sandbox_error("NotFound", "There is no job \"" + id.substr(0, 100) + "\"; job_list shows yours.");
}

std::vector<job_record> job_manager::list(const caller& who)
{
    auto all = jobs_.list(who.principal);
    std::erase_if(all, [&](const auto& each) { return !may_use(who, each.sandbox); });
    return all;
}

awaitable<job_view> job_manager::poll(caller who, std::string id, std::uint64_t cursor, job_patience patience,
                                      std::size_t most)
{
    return jobs_.view(owned(who, id), cursor, patience, most);
}

awaitable<job_record> job_manager::kill(caller who, std::string id)
{
    auto record = owned(who, id);
    const auto live = jobs_.running(id);
    if (live) live->cancel("killed", "ended by job_kill");
    while (live && !live->ended()) co_await live->wait();
    if (live) record = live->record();
    if (killed_) killed_(record);
    co_return record;
}

}  // namespace cmcp
