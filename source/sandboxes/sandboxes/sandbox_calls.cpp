#include "sandboxes/sandbox_calls.hpp"

#include "jsonrpc/rpc_error.hpp"
#include "log/log.hpp"

#include <system_error>
#include <utility>

namespace cmcp {

namespace {

// What the sandbox may have noted of the call is known a moment later, or at another server.
bool is_for_now(const sandbox_error& refused)
{
    return refused.type == "NodeCutOff" || refused.type == "NodeUnreachable" || refused.type == "SnapshotStoreError";
}

}  // namespace

awaitable<std::string> sandbox_calls::sandbox_of(caller who, std::string sandbox_id, unnamed_subject about)
{
    std::string handle;
    if (!sandbox_id.empty() || about == unnamed_subject::default_sandbox) {
        const auto record = co_await sandboxes_.use(std::move(who), std::move(sandbox_id));
        handle = record.id;
    } else if (about == unnamed_subject::latest_sandbox) {
        handle = sandboxes_.latest(who).id;
    }
    co_return handle;
}

awaitable<kept_calls::place> sandbox_calls::place_of(caller who, std::string sandbox_id, unnamed_subject about)
{
    place where;
    try {
        where.sandbox = co_await sandbox_of(std::move(who), std::move(sandbox_id), about);
    } catch (const sandbox_error& refused) {
        if (!is_for_now(refused)) co_return where;  // the tool says so
        where.refusal = tool_failure(refused.what());
        where.refusal->structured["error_type"] = refused.type;
    }
    co_return where;
}

awaitable<kept_calls::known> sandbox_calls::begin(named_call which)
{
    const std::string principal = which.principal;
    call_records records(sandboxes_.places().folder(which.sandbox));
    auto begin = [records = std::move(records), which = std::move(which)] { return records.begin(which); };
    std::string problem;
    try {
        auto known = co_await pool_.run(principal, std::move(begin));
        co_return known;
    } catch (const std::system_error& failure) {
        problem = failure.what();
    }
    throw rpc_error(rpc_code::server_error,
                    "The call has not run, because its Idempotency-Key could not be noted (" + problem + ").");
}

// The end is a use of the sandbox, so that it is kept elsewhere, too.
awaitable<> sandbox_calls::end(named_call which, kept_result result)
{
    const std::string sandbox = which.sandbox;
    auto note = [result = std::move(result)](const call_records& records, const named_call& call) {
        records.end(call, result);
    };
    const bool is_noted = co_await noted(std::move(which), std::move(note));
    if (is_noted) sandboxes_.store().touch(sandbox, sandbox_manager::now());
}

awaitable<> sandbox_calls::forget(named_call which)
{
    co_await noted(std::move(which), [](const call_records& records, const named_call& call) { records.forget(call); });
}

awaitable<bool> sandbox_calls::noted(named_call which, note how)
{
    const std::string principal = which.principal, sandbox = which.sandbox;
    call_records records(sandboxes_.places().folder(sandbox));
    auto write = [records = std::move(records), which = std::move(which), how = std::move(how)] {
        how(records, which);
    };
    std::string problem;
    try {
        co_await pool_.run(principal, std::move(write));
    } catch (const std::system_error& failure) {
        problem = failure.what();
    }
    if (!problem.empty()) log::info("call_not_kept", {{"sandbox", sandbox}, {"reason", problem}});
    co_return problem.empty();
}

}  // namespace cmcp
