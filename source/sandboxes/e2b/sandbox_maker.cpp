#include "e2b/sandbox_maker.hpp"

#include "log/log.hpp"
#include "mcp/silent_io.hpp"

#include <utility>

namespace cmcp::e2b {

awaitable<sandbox_record> sandbox_maker::make(caller who, new_sandbox wanted)
{
    auto& sandboxes = runs_.sandboxes();
    wanted.user = "user";
    wanted.machine = sandboxes.offers_machines(who);
    auto record = co_await sandboxes.create(who, wanted);
    if (!wanted.machine || has_started_one_) co_return record;
    const auto problem = co_await obstacle(who, record);
    if (problem.empty()) co_return record;
    log::warning("machine_not_started", {{"sandbox", record.id}, {"reason", json::string(problem)}});
    co_await sandboxes.remove(who, record.id);
    wanted.machine = false;
    record = co_await sandboxes.create(std::move(who), std::move(wanted));
    co_return record;
}

// Empty: it starts, or that is not known.
awaitable<std::string> sandbox_maker::obstacle(caller who, sandbox_record where)
{
    silent_io io;
    std::string problem;
    try {
        const auto outcome = co_await runs_.command(std::move(who), io, std::move(where), "true", run_options());
        has_started_one_ = outcome.run.end.why != sandbox::cause::setup_failed;
        if (!has_started_one_) problem = outcome.run.end.error;
    } catch (const sandbox_error& refused) {
        log::info("machine_not_tried", {{"reason", json::string(refused.what())}});
    }
    co_return problem;
}

}  // namespace cmcp::e2b
