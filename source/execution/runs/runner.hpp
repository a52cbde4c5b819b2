#pragma once

#include "async/asio.hpp"
#include "async/blocking_pool.hpp"
#include "mcp/caller.hpp"
#include "mcp/request_io.hpp"
#include "runs/output_collector.hpp"
#include "runs/run_admission.hpp"
#include "sandbox/backend.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

struct execution_settings;

/// The wishes of a caller for a run, beside its code.
struct run_options {
    std::string working_dir;                ///< inside: relative to the working folder, or absolute; empty: that folder
    std::optional<double> timeout;          ///< seconds
    std::optional<std::size_t> max_output;  ///< bytes of each stream
    std::string request_id;                 ///< for the log
    bool has_slot = false;                  ///< the caller holds a slot among the runs for it already
    bool background = false;                ///< a job: SANDBOX_JOB_TIMEOUT is its default and highest time
    bool may_outlive = false;               ///< its call may go on as a job when its time is over (request_io::outlive)
};

/// The end of a run and its output (valid UTF-8, head and tail where it was long).
struct run_outcome {
    sandbox::run_result end;
    sandbox::run_limits limits;  ///< under which it ran
    std::string out;
    std::string err;
    bool out_truncated = false;
    bool err_truncated = false;
    std::uint64_t binary_bytes = 0;  ///< that were printed, where they are no text
    std::string output_path;         ///< of the file with all output, relative to the working folder; empty: none
    std::string output_uri;          ///< the same for resources/read
    std::string_view busy;           ///< "caller" or "server", whose queue was full; empty: that is not why
    std::string refused;             ///< why the run did not begin, with advice; empty: it began
    std::string note;                ///< what the caller should know beside it; empty: nothing
};

inline constexpr std::size_t default_max_output = 24 * 1024;
inline constexpr std::size_t highest_max_output = 1024 * 1024;

/// What becomes of a run when its time is over.
struct overtime {
    std::chrono::milliseconds more{0};    ///< that it gets as a job; 0: it is ended
    run_admission::slot* slot = nullptr;  ///< among the runs, which a job gives for one of those in the background
    std::string key;                      ///< admission_key() of its caller
    bool used = false;                    ///< it goes on as a job
    bool ends = true;                     ///< where there can be no job; else its call lasts as long
};

/// A run that prints into a collector.
using collected_work = std::function<awaitable<sandbox::run_result>(output_collector& output)>;

/// The steps that all runs share: waits for a slot, runs, collects and streams. Everything given to the constructor
/// must outlive it.
class runner {
public:
    runner(sandbox::backend& backend, output_store& outputs, run_admission& admission, run_admission& jobs,
           blocking_pool& pool);

    /// `request` has all but the working_dir, which is filled in here.
    /// A run that could not begin has a sentence in run_outcome::refused.
    awaitable<run_outcome> run(caller who, request_io& io, sandbox::run_request request, run_options options) const;

    /// Waits for a slot among the runs, or among those in the background; null when too many wait already
    /// (busy_sentence).
    awaitable<run_admission::slot> admit(caller who, request_io& io, bool background) const;

    /// Runs `work`; keeps its output, at most `max_output` bytes of each stream in memory, the rest in a file of the
    /// sandbox, and hands it to the caller's progress. All must outlive the call. `beyond`: null where the work does
    /// not ask for more time.
    awaitable<run_outcome> collect(request_io& io, output_location where, std::optional<std::size_t> max_output,
                                   collected_work work, overtime* beyond = nullptr) const;

    blocking_pool& pool() const { return pool_; }

    std::size_t most_at_once() const { return admission_.most(); }

private:
    sandbox::backend& backend_;
    output_store& outputs_;
    run_admission& admission_;
    run_admission& jobs_;
    blocking_pool& pool_;
};

/// The wall time of a run: `asked` seconds or `otherwise`, at most `most`, at least a millisecond.
std::chrono::milliseconds chosen_timeout(std::optional<double> seconds, std::chrono::milliseconds otherwise,
                                         std::chrono::milliseconds most);

/// The limits that commands and Python runs share.
sandbox::run_limits common_limits(const execution_settings& config);

/// The programs, limits and times of a kind of runs.
struct run_terms {
    static run_terms of_commands(const execution_settings& config);
    static run_terms of_python(const execution_settings& config);

    /// Sets programs, limits and the wall time that the caller asked for.
    void apply(sandbox::run_request& request, const run_options& options) const;
    std::chrono::milliseconds time(const run_options& options) const;

    /// `time` as the run's wall time, or where its call may go on as a job as the time after which that is asked.
    void limit_time(sandbox::run_request& request, std::chrono::milliseconds time, const run_options& options) const;

    /// The time that a run gets beyond `time` as a job.
    std::chrono::milliseconds more_than(std::chrono::milliseconds time, const run_options& options) const;

    /// The most time that a call may ask for, and its setting, as words; also that in the background.
    std::string longest(bool background) const;

    sandbox::program_view programs;  ///< those of BASH_ALLOWED_COMMANDS
    sandbox::run_limits limits;
    std::chrono::milliseconds time_otherwise;
    std::chrono::milliseconds longest_time;
    std::chrono::milliseconds longest_job;  ///< 0: there are no jobs
    std::string_view time_setting;          ///< that bounds the time of a call
};

}  // namespace cmcp
