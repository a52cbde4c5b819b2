#include "runs/runner.hpp"

#include <memory>
#include <utility>

namespace cmcp {

// The part of runner that uses the caller's workspace, which may go to another server.

namespace {

awaitable<bool> put_outcome(awaitable<run_outcome> work, run_outcome* into)
{
    *into = co_await std::move(work);
    co_return true;
}

}  // namespace

awaitable<run_outcome> runner::run(caller who, request_io& io, sandbox::run_request request, run_options options)
{
    std::shared_ptr<workspace_use> use;
    if (request.workspace.empty()) use = co_await places_.enter(who);
    auto work = run_here(std::move(who), io, std::move(request), std::move(options));
    if (!use) co_return co_await std::move(work);
    run_outcome outcome;
    auto kept = put_outcome(std::move(work), &outcome);
    co_await use->run(std::move(kept));
    if (outcome.refused.empty()) outcome.note = use->take_note();
    co_return outcome;
}

}  // namespace cmcp
