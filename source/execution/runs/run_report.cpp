#include "runs/run_report.hpp"

#include "text/time_text.hpp"
#include "text/words.hpp"

#include <cmath>

namespace cmcp {
namespace {

using sandbox::cause;

double milliseconds(std::chrono::microseconds time) { return static_cast<double>(time.count()) / 1000; }

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

std::string denied_sentence(const std::vector<std::string>& denied)
{
    return "Ended: the sandbox does not allow " +
           (denied.empty() ? std::string("a system call it made") : joined(denied, ", ")) + ". Do it another way.";
}

std::string note_on_limit(const run_outcome& outcome)
{
    return "The sandbox reached its process limit " + std::to_string(outcome.limits.processes) +
           " (SANDBOX_PROCESS_LIMIT, threads included), so no more could be started; " +
           std::to_string(outcome.end.live_at_limit) +
           " processes live in it now. End some, or call stop_sandbox with keep_files: it ends all of them at once and "
           "keeps the files.";
}

// A process that has just been left may be about to send its output elsewhere.
std::string note_on(const run_outcome& outcome)
{
    std::string note = outcome.note;
    const auto add = [&](std::uint64_t count, const std::string& sentence) {
        if (count != 0) note += (note.empty() ? "" : " ") + sentence;
    };
    const sandbox::left_processes& left = outcome.end.left;
    add(left.others, "Processes that go on in the background: " + std::to_string(left.others) + ".");
    add(left.hung_up, "Processes that it has just left: " + std::to_string(left.hung_up) +
                          ". Those that print into this call end with it, but for those begun with nohup or setsid; to "
                          "keep a program, send its output to a file (> log 2>&1 &).");
    add(outcome.end.live_at_limit, note_on_limit(outcome));
    return note;
}

}  // namespace

void add_run_fields(json::object& to, const run_outcome& outcome)
{
    const sandbox::run_result& end = outcome.end;
    to["exit_code"] = end.exit_code;
    to["success"] = end.why == cause::exited && end.exit_code == 0;
    to["duration_ms"] = milliseconds(end.wall);
    to["cause"] = sandbox::to_string(end.why);
    to["stdout_truncated"] = outcome.out_truncated;
    to["stderr_truncated"] = outcome.err_truncated;
    if (!outcome.output_uri.empty()) {
        to["output_uri"] = outcome.output_uri;
        to["output_path"] = outcome.output_path;
    }
    if (outcome.binary_bytes != 0) to["binary_bytes"] = outcome.binary_bytes;
    if (end.signal != 0) to["signal"] = end.signal;
    if (!end.denied.empty()) to["denied"] = json::array(end.denied.begin(), end.denied.end());
    if (end.peak_memory != 0) to["peak_memory_bytes"] = end.peak_memory;
    if (end.prepared) to["prepared"] = true;
    if (const std::string note = note_on(outcome); !note.empty()) to["note"] = note;
    to["cpu_ms"] = milliseconds(end.cpu);
}

std::string ending_sentence(const run_outcome& outcome, std::string_view longest)
{
    const sandbox::run_limits& limits = outcome.limits;
    switch (outcome.end.why) {
        case cause::exited:
        case cause::signalled:
            return {};
        case cause::timeout:
            return "Timed out after " + seconds_text(limits.wall) +
                   " and was ended; what it printed until then is here. Give a "
                   "larger timeout (at most " +
                   std::string(longest) + "), or do less in one run.";
        case cause::cpu_limit:
            return "Ended: it used more processor time than a run may (" +
                   (limits.cpu.count() > 0 ? std::to_string(limits.cpu.count()) + " s"
                                           : std::string("twice its timeout")) +
                   "). Do less in one run.";
        case cause::memory_limit:
            if (!outcome.end.detail.empty()) return "Ended: " + outcome.end.detail;
            return "Ended: it needed more memory than the limit of " + mebibytes(limits.memory) +
                   " (SANDBOX_MEMORY_LIMIT; PYTHON_MEMORY_LIMIT for system_run_python). Work on less data at a "
                   "time.";
        case cause::process_limit:
            return "Ended: it started more processes and threads than the limit of " +
                   std::to_string(limits.processes) + " (SANDBOX_PROCESS_LIMIT). Start fewer.";
        case cause::file_size_limit:
            if (!outcome.end.detail.empty()) return "Ended: " + outcome.end.detail;
            return "Ended: it wrote a file larger than the limit of " + mebibytes(limits.file_size) +
                   " (SANDBOX_FILE_SIZE_LIMIT). Write smaller files.";
        case cause::output_limit:
            return "Ended: it printed more than the limit of " + mebibytes(limits.output) +
                   ". Write the output to a file, or print less.";
        case cause::denied_syscall:
            return denied_sentence(outcome.end.denied);
        case cause::cancelled:
            return "Cancelled.";
        case cause::setup_failed:
            return "The run could not be started: " +
                   (outcome.end.error.empty() ? std::string("the sandbox could not be set up") : outcome.end.error);
        case cause::lost:
            return outcome.end.error;
    }
    return {};
}

}  // namespace cmcp
