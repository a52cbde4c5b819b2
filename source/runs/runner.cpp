#include "runs/runner.hpp"

#include "metrics/registry.hpp"
#include "runs/denied_paths.hpp"
#include "runs/output_collector.hpp"
#include "runs/progress_sender.hpp"
#include "runs/working_folder.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <system_error>
#include <utility>

namespace cmcp {

struct runner::ready {
    std::filesystem::path workspace;
    working_folder folder;
};

namespace {

double seconds_since(std::chrono::steady_clock::time_point began)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

void record_wait(std::chrono::steady_clock::time_point began)
{
    static auto& waits = metrics::all().histograms("cmcp_run_wait_seconds", "Time that runs wait for a place.").at();
    waits.observe(seconds_since(began));
}

void record_run(const sandbox::run_result& end, std::chrono::steady_clock::time_point began)
{
    static auto& runs =
        metrics::all().counters("cmcp_runs_total", "Sandboxed runs by the cause of their end.", {"cause"});
    static auto& times =
        metrics::all().histograms("cmcp_run_seconds", "Time of sandboxed runs, their start included.").at();
    runs.at({to_string(end.why)}).add();
    times.observe(seconds_since(began));
}

run_outcome refused(std::string sentence)
{
    run_outcome outcome;
    outcome.refused = std::move(sentence);
    return outcome;
}

awaitable<sandbox::run_result> run_and_finish(awaitable<sandbox::run_result> work, output_collector& collector)
{
    const auto began = std::chrono::steady_clock::now();
    auto result = co_await std::move(work);
    record_run(result, began);
    co_await collector.finish();
    co_return result;
}

run_outcome describe(sandbox::run_result end, const output_collector& collector)
{
    run_outcome outcome;
    outcome.end = std::move(end);
    if (const output_file* file = collector.file()) {
        outcome.output_path = file->path();
        outcome.output_uri = file->uri();
    }
    outcome.out = collector.out().text(outcome.output_path);
    outcome.err = collector.err().text(outcome.output_path);
    outcome.out_truncated = collector.out().truncated();
    outcome.err_truncated = collector.err().truncated();
    return outcome;
}

}  // namespace

runner::runner(sandbox::backend& backend, const workspaces& places, output_store& outputs, run_admission& admission,
               blocking_pool& pool)
    : backend_(backend), places_(places), outputs_(outputs), admission_(admission), pool_(pool)
{
}

awaitable<runner::ready> runner::prepare(caller who, std::string working_dir, std::string inside, std::string workspace)
{
    auto work = [&places = places_, who = std::move(who), working_dir = std::move(working_dir),
                 inside = std::move(inside), workspace = std::move(workspace)] {
        ready at;
        at.workspace = workspace.empty() ? places.folder(who) : std::filesystem::path(workspace);
        at.folder = find_working_folder(working_dir, at.workspace, inside);
        return at;
    };
    auto at = co_await pool_.run(std::move(work));
    co_return at;
}

awaitable<std::optional<run_admission::place>> runner::admit(caller who, request_io& io) const
{
    std::string key = admission_key(who);
    const auto began = std::chrono::steady_clock::now();
    auto place = co_await admission_.enter(std::move(key), &io);
    record_wait(began);
    co_return place;
}

awaitable<run_outcome> runner::collect(request_io& io, std::string workspace, std::optional<std::size_t> max_output,
                                       collected_work work) const
{
    const std::size_t most = std::min(max_output.value_or(default_max_output), highest_max_output);
    std::optional<progress_sender> progress;
    if (io.wants_progress()) progress.emplace(io);
    progress_sender* const beside = progress ? &*progress : nullptr;
    output_collector collector(outputs_, std::move(workspace), most, beside);
    auto begun = work(collector);
    auto running = run_and_finish(std::move(begun), collector);
    if (beside != nullptr) running = with_progress(*beside, std::move(running));
    sandbox::run_result end = co_await std::move(running);
    co_return describe(std::move(end), collector);
}

awaitable<run_outcome> runner::run(caller who, request_io& io, sandbox::run_request request, run_options options)
{
    auto entering = admit(who, io);
    const auto place = co_await std::move(entering);
    if (!place) co_return refused(busy_sentence);
    const std::string inside = request.workspace_inside;
    request.principal = who.principal;
    ready at = co_await prepare(std::move(who), std::move(options.working_dir), inside, request.workspace);
    if (!at.folder.problem.empty()) co_return refused(std::move(at.folder.problem));
    request.workspace = at.workspace.string();
    request.working_dir = std::move(at.folder.inside);
    request.label = std::move(options.label);
    const sandbox::run_limits limits = request.limits;
    auto kept = std::make_shared<sandbox::run_request>(std::move(request));
    collected_work work = [&backend = backend_, kept](output_collector& output) {
        return backend.run(std::move(*kept), output);
    };
    auto outcome = co_await collect(io, at.workspace.string(), options.max_output, std::move(work));
    for (auto& refusal : denied_paths(outcome.err, inside)) outcome.end.denied.push_back(std::move(refusal));
    outcome.limits = limits;
    co_return outcome;
}

std::chrono::milliseconds chosen_timeout(std::optional<double> seconds, std::chrono::milliseconds otherwise,
                                         std::chrono::milliseconds most)
{
    if (!seconds) return std::min(otherwise, most);
    const double milliseconds = std::ceil(*seconds * 1000);
    if (!(milliseconds < static_cast<double>(most.count()))) return most;
    return std::chrono::milliseconds(std::max<std::int64_t>(1, static_cast<std::int64_t>(milliseconds)));
}

}  // namespace cmcp
