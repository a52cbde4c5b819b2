#include "runs/runner.hpp"

#include "config/execution_settings.hpp"
#include "files/file_path.hpp"
#include "files/file_root.hpp"
#include "metrics/registry.hpp"
#include "runs/error_output.hpp"
#include "runs/output_collector.hpp"
#include "runs/progress_sender.hpp"
#include "text/time_text.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <memory>
#include <utility>

namespace cmcp {

namespace {

double seconds_since(std::chrono::steady_clock::time_point began)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

void record_wait(std::chrono::steady_clock::time_point began)
{
    static auto& waits = metrics::all().histograms("cmcp_run_wait_seconds", "Time that runs wait for a slot.").at();
    waits.observe(seconds_since(began));
}

// Few values, whatever programs end with: of the others a figure says no more than that they failed.
std::string_view exit_of(const sandbox::run_result& end)
{
    constexpr std::pair<int, std::string_view> known[] = {{0, "0"}, {1, "1"}, {2, "2"}, {126, "126"}, {127, "127"}};
    if (end.why != sandbox::cause::exited) return "none";
    for (const auto& [code, name] : known)
        if (code == end.exit_code) return name;
    return "other";
}

void record_run(const sandbox::run_result& end, std::chrono::steady_clock::time_point began)
{
    static auto& runs = metrics::all().counters(
        "cmcp_runs_total",
        "Sandboxed runs by the cause of their end, and by the exit code of those that exited by themselves.",
        {"cause", "exit"});
    static auto& times =
        metrics::all().histograms("cmcp_run_seconds", "Time of sandboxed runs, their start included.").at();
    runs.at({to_string(end.why), exit_of(end)}).add();
    times.observe(seconds_since(began));
}

// Of runs that a loaded interpreter may stand in for.
void record_interpreter(const sandbox::run_result& end)
{
    static auto& starts = metrics::all().counters(
        "cmcp_interpreter_starts_total",
        "Python runs by their start: standby (a clone that stood by), clone (made for the run), cold.", {"start"});
    if (end.why == sandbox::cause::setup_failed) return;
    starts.at({!end.prepared ? "cold" : end.waited ? "standby" : "clone"}).add();
}

// A path that leads out of the sandbox's files (EXDEV) is resolved in the sandbox, where an absolute link means another
// path than here.
std::string folder_problem(const std::filesystem::path& files, const std::string& relative, std::string_view wanted)
{
    const unique_fd root(::open(files.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (root && file_root::open_beneath(root.get(), relative, O_PATH | O_DIRECTORY)) return {};
    const int error = errno;
    const std::string named = "working_dir: \"" + std::string(wanted) + "\"";
    if (error == ENOENT) return named + " does not exist; make it first (mkdir -p, or file_write a file into it)";
    if (error == ENOTDIR) return named + " is not a folder; name the folder that it is in";
    if (error == ENAMETOOLONG) return "working_dir: the path is too long";
    return {};
}

// The part below the working folder, or nothing when `path` is elsewhere inside.
std::string folder_below(const std::string& path, const std::string& workspace_inside)
{
    const std::string normal = std::filesystem::path(path).lexically_normal().string();
    const std::string prefix = workspace_inside + "/";
    if (normal == workspace_inside || normal == prefix) return ".";
    return normal.starts_with(prefix) ? normal.substr(prefix.size()) : "";
}

struct run_folder {
    std::string files;    // of the sandbox, on this machine
    std::string inside;   // absolute path in the sandbox
    std::string problem;  // a sentence that names `working_dir`; empty: the run can begin there
};

// `wanted` is relative to the working folder or absolute inside. A folder below the working folder that is not there
// is a problem; of other paths inside only the sandbox knows.
void find_folder(run_folder& at, const std::string& wanted)
{
    const std::string workspace_inside = at.inside;
    if (wanted.find('\0') != std::string::npos) at.problem = "working_dir: must not contain a NUL character";
    if (!at.problem.empty()) return;
    const auto below = below_home(wanted);
    const bool at_home = below.size() != wanted.size();
    at.inside = wanted.front() == '/' ? wanted : workspace_inside + (at_home ? "" : "/") + std::string(below);
    const std::string relative = folder_below(at.inside, workspace_inside);
    if (!relative.empty()) at.problem = folder_problem(at.files, relative, wanted);
}

run_outcome refused(std::string sentence)
{
    run_outcome outcome;
    outcome.refused = std::move(sentence);
    return outcome;
}

run_outcome refused_as_busy(bool own_share)
{
    auto outcome = refused(busy_sentence);
    outcome.busy = own_share ? "caller" : "server";
    return outcome;
}

// The output of the run is shown to administrators while the mark lives.
struct output_mark {
    output_mark(request_io& io, const output_collector& output) : of(io) { of.activity().output = &output; }
    ~output_mark() { of.activity().output = nullptr; }
    output_mark(const output_mark&) = delete;
    output_mark& operator=(const output_mark&) = delete;

    request_io& of;
};

// The time that a run gets: it goes on as a job where the caller may have one more and there is a slot for it.
awaitable<std::chrono::milliseconds> more_as_job(run_admission& jobs, request_io& io, const output_collector& output,
                                                 overtime& beyond)
{
    const auto otherwise = beyond.ends ? std::chrono::milliseconds(0) : beyond.more;
    auto slot = jobs.enter_now(beyond.key);
    if (!slot) co_return otherwise;
    printed_so_far printed{output.out().text({}), output.err().text({}), output.out().size(), output.err().size()};
    const bool goes_on = co_await io.outlive(std::move(printed));
    if (!goes_on) co_return otherwise;
    beyond.used = true;
    *beyond.slot = std::move(slot);
    co_return beyond.more;
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
    }
    outcome.out = collector.out().text(outcome.output_path);
    outcome.err = collector.err().text(outcome.output_path);
    outcome.out_truncated = collector.out().truncated();
    outcome.err_truncated = collector.err().truncated();
    if (collector.out().binary()) outcome.binary_bytes += collector.out().bytes();
    if (collector.err().binary()) outcome.binary_bytes += collector.err().bytes();
    return outcome;
}

// The launcher tells of a full workspace whatever the run did there. One that worked without a word only made room.
void forget_refusals_of_none(run_outcome& outcome)
{
    constexpr std::string_view full = "writing to the working folder, which ";
    if (outcome.end.why != sandbox::cause::exited || outcome.end.exit_code != 0 || !outcome.err.empty()) return;
    std::erase_if(outcome.end.denied, [&](const std::string& each) { return each.starts_with(full); });
}

sandbox::program_view allowed_programs(const execution_settings& config)
{
    const auto& names = config.bash_allowed_commands;
    sandbox::program_view view;
    view.all = std::find(names.begin(), names.end(), "*") != names.end();
    if (!view.all) view.names = names;
    return view;
}

}  // namespace

runner::runner(sandbox::backend& backend, output_store& outputs, run_admission& admission, run_admission& jobs,
               blocking_pool& pool)
    : backend_(backend), outputs_(outputs), admission_(admission), jobs_(jobs), pool_(pool)
{
}

awaitable<run_admission::slot> runner::admit(caller who, request_io& io, bool background) const
{
    std::string key = admission_key(who);
    const auto began = std::chrono::steady_clock::now();
    auto& queue = background ? jobs_ : admission_;
    auto slot = co_await queue.enter(std::move(key), &io);
    record_wait(began);
    co_return slot;
}

awaitable<run_outcome> runner::collect(request_io& io, output_location where, std::optional<std::size_t> max_output,
                                       collected_work work, overtime* beyond) const
{
    const std::size_t most = std::min(max_output.value_or(default_max_output), highest_max_output);
    std::optional<progress_sender> progress;
    if (io.wants_progress()) progress.emplace(io);
    progress_sender* const beside = progress ? &*progress : nullptr;
    output_collector collector(outputs_, std::move(where), most, beside);
    const output_mark shown(io, collector);
    if (beyond != nullptr && beyond->more.count() > 0)
        collector.on_time_over(io, [&, &jobs = jobs_] { return more_as_job(jobs, io, collector, *beyond); });
    auto begun = work(collector);
    auto running = run_and_finish(std::move(begun), collector);
    if (beside != nullptr) running = with_progress(*beside, std::move(running));
    sandbox::run_result end = co_await std::move(running);
    co_return describe(std::move(end), collector);
}

awaitable<run_outcome> runner::run(caller who, request_io& io, sandbox::run_request request, run_options options) const
{
    run_folder at{request.workspace, request.workspace_inside, {}};
    if (!options.working_dir.empty()) {
        auto resolve = [at, wanted = std::move(options.working_dir)]() mutable {
            find_folder(at, wanted);
            return at;
        };
        at = co_await pool_.run(who.principal, std::move(resolve));
    }
    if (!at.problem.empty()) co_return refused(std::move(at.problem));
    request.principal = who.principal;
    output_location where{who.principal, request.workspace};
    const std::string key = admission_key(who);
    auto slot = co_await admit(std::move(who), io, options.background);
    const run_admission& queue = options.background ? jobs_ : admission_;
    if (!slot) co_return refused_as_busy(queue.share_used_up(key));
    const std::string inside = request.workspace_inside;
    request.working_dir = std::move(at.inside);
    request.label = std::move(options.request_id);
    sandbox::run_limits limits = request.limits;
    const auto foreground = request.asks_after;
    overtime beyond{foreground.count() > 0 ? limits.wall - foreground : foreground, &slot, key};
    const bool by_interpreter = request.prepared;
    auto request_ptr = std::make_shared<sandbox::run_request>(std::move(request));
    collected_work work = [&backend = backend_, request_ptr](output_collector& output) {
        return backend.run(std::move(*request_ptr), output);
    };
    auto outcome = co_await collect(io, std::move(where), options.max_output, std::move(work), &beyond);
    if (foreground.count() > 0 && !beyond.used) limits.wall = foreground;
    if (by_interpreter) record_interpreter(outcome.end);
    forget_refusals_of_none(outcome);
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

sandbox::run_limits common_limits(const execution_settings& config)
{
    sandbox::run_limits limits;
    limits.memory = config.memory_limit;
    limits.processes = config.process_limit;
    limits.file_size = config.file_size_limit;
    limits.tmp_size = config.tmp_size;
    limits.open_files = config.open_files_limit;
    limits.workspace_size = config.workspace_max_size;
    limits.workspace_files = config.workspace_max_files;
    limits.output = config.output_hard_limit;
    return limits;
}

namespace {

std::chrono::milliseconds longest_of_jobs(const execution_settings& config)
{
    return config.enable_sandbox ? config.job_timeout_max : std::chrono::milliseconds(0);
}

}  // namespace

run_terms run_terms::of_commands(const execution_settings& config)
{
    return {allowed_programs(config), common_limits(config),   config.bash_timeout_default,
            config.bash_timeout_max,  longest_of_jobs(config), "BASH_TIMEOUT_MAX"};
}

run_terms run_terms::of_python(const execution_settings& config)
{
    run_terms terms{allowed_programs(config),  common_limits(config),   config.python_timeout_default,
                    config.python_timeout_max, longest_of_jobs(config), "PYTHON_TIMEOUT_MAX"};
    terms.limits.memory = config.python_memory_limit;
    return terms;
}

std::chrono::milliseconds run_terms::time(const run_options& options) const
{
    if (options.background) return chosen_timeout(options.timeout, longest_job, longest_job);
    return chosen_timeout(options.timeout, time_otherwise, longest_time);
}

std::string run_terms::longest(bool background) const
{
    if (background) return seconds_text(longest_job) + ", SANDBOX_JOB_TIMEOUT";
    const std::string in_job =
        longest_job.count() == 0 ? "" : "; " + seconds_text(longest_job) + " with run_in_background";
    return seconds_text(longest_time) + ", " + std::string(time_setting) + in_job;
}

void run_terms::apply(sandbox::run_request& request, const run_options& options) const
{
    request.programs = programs;
    request.limits = limits;
    limit_time(request, time(options), options);
}

std::chrono::milliseconds run_terms::more_than(std::chrono::milliseconds time, const run_options& options) const
{
    const bool outlives = options.may_outlive && !options.background && longest_job > time;
    return outlives ? longest_job - time : std::chrono::milliseconds(0);
}

void run_terms::limit_time(sandbox::run_request& request, std::chrono::milliseconds time,
                           const run_options& options) const
{
    const auto more = more_than(time, options);
    request.limits.wall = time + more;
    if (more.count() > 0) request.asks_after = time;
}

}  // namespace cmcp
