#include "server/loop_report.hpp"

#include "jsonrpc/json.hpp"
#include "log/log.hpp"
#include "metrics/registry.hpp"
#include "posix/unique_fd.hpp"

#include <chrono>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace cmcp::command {

namespace {

unique_fd& step_record()
{
    static unique_fd file;
    return file;
}

double milliseconds_of(std::chrono::nanoseconds time)
{
    return std::chrono::duration<double, std::milli>(time).count();
}

// Several servers append to the file, so each line is one write.
void record(const step_figures& step, std::string_view kind)
{
    if (!step_record()) return;
    json::object line;
    line["step"] = kind;
    line["pid"] = ::getpid();
    line["ms"] = milliseconds_of(step.took);
    line["computed_ms"] = milliseconds_of(step.used);
    line["what"] = step.what;
    line["at"] = step.at;
    const std::string text = json::serialize(line) + "\n";
    [[maybe_unused]] const auto written = ::write(step_record().get(), text.data(), text.size());
}

void count(const step_figures& step)
{
    static auto& slow =
        metrics::all().counters("cmcp_loop_slow_steps_total",
                                "Steps of the server's loop that took longer than 5 ms, by what they did.", {"what"});
    slow.at({step.what}).add();
}

}  // namespace

void open_step_record()
{
    const char* name = std::getenv("CMCP_STEP_RECORD");
    if (name == nullptr || *name == '\0') return;
    step_record() = unique_fd(::open(name, O_WRONLY | O_APPEND | O_CLOEXEC));
}

loop_report::loop_report() : told_("further_slow_steps", 1), watch_([this](const step_figures& step) { tell(step); })
{
    metrics::all().observe(this, "cmcp_loop_longest_step_seconds",
                           "Longest step of the server's loop since its start; nothing else happens during a step.",
                           [this] { return std::chrono::duration<double>(watch_.longest().took).count(); });
}

loop_report::~loop_report()
{
    metrics::all().remove(this);
    const auto& longest = watch_.longest();
    log::info("loop", {{"longest_step_ms", longest.took},
                       {"computed_ms", longest.used},
                       {"what", log::unless_empty(longest.what)},
                       {"slow_steps", watch_.slow_steps()}});
    record(longest, "longest");
}

// A step that only waited for the processor says nothing about the server.
void loop_report::tell(const step_figures& step)
{
    count(step);
    record(step, "slow");
    if (step.used <= loop_watch::limit || !told_.may_write()) return;
    log::warning("slow_step", {{"ms", step.took},
                               {"computed_ms", step.used},
                               {"what", log::unless_empty(step.what)},
                               {"at", log::unless_empty(step.at)}});
}

}  // namespace cmcp::command
