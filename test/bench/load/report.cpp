#include "load/report.hpp"

#include "load/figure_text.hpp"

#include <iomanip>
#include <sstream>
#include <string>
#include <vector>

namespace cmcp::load {

namespace {

std::string percentile_name(double percent)
{
    std::ostringstream text;
    text << 'p' << percent;
    return text.str();
}

json::object describe(const histogram& values)
{
    json::object described;
    described["count"] = values.count();
    if (values.count() == 0) return described;
    described["min"] = static_cast<double>(values.min()) / 1e3;
    described["mean"] = values.mean() / 1e3;
    for (auto percent : shown_percentiles)
        described[percentile_name(percent)] = static_cast<double>(values.percentile(percent)) / 1e3;
    described["max"] = static_cast<double>(values.max()) / 1e3;
    return described;
}

json::object describe(const failure_counts& errors)
{
    json::object described;
    for (const auto& [kind, seen] : errors.kinds()) described[kind] = seen.count;
    return described;
}

json::object first_texts(const failure_counts& errors)
{
    json::object described;
    for (const auto& [kind, seen] : errors.kinds())
        if (!seen.first_text.empty()) described[kind] = seen.first_text;
    return described;
}

json::object describe(const call_figures& calls)
{
    json::object described;
    described["started"] = calls.started;
    described["succeeded"] = calls.succeeded;
    described["failed"] = calls.failed();
    described["errors"] = describe(calls.errors);
    described["first_error_texts"] = first_texts(calls.errors);
    described["latency_us"] = describe(calls.latency);
    described["service_us"] = describe(calls.service);
    described["progress_messages"] = calls.progress;
    described["heartbeats"] = calls.heartbeats;
    described["output_bytes"] = calls.output_bytes;
    described["output_gaps"] = calls.output_gaps;
    described["first_progress_us"] = describe(calls.first_progress);
    described["progress_gap_us"] = describe(calls.gap);
    return described;
}

json::object describe(const process_figures& server)
{
    json::object described;
    described["cpu_seconds"] = server.cpu_seconds;
    described["anonymous_bytes"] = server.anonymous;
    described["resident_bytes"] = server.resident;
    described["descriptors"] = server.descriptors;
    return described;
}

json::object describe(const load_options& chosen)
{
    json::object described;
    described["transport"] = to_string(chosen.transport);
    described["server"] = chosen.target();
    described["sessions"] = chosen.sessions;
    described["idle"] = chosen.idle;
    described["slow"] = chosen.slow;
    described["rate"] = chosen.rate;
    described["loop"] = chosen.rate > 0 ? "open" : "closed";
    described["progress"] = chosen.progress;
    return described;
}

json::array describe(const std::vector<verdict>& verdicts)
{
    json::array described;
    for (const auto& each : verdicts)
        described.push_back({{"fail_if", each.expression}, {"value", each.value}, {"failed", each.failed}});
    return described;
}

void print_errors(std::ostream& to, const std::string& what, const failure_counts& errors)
{
    for (const auto& [kind, seen] : errors.kinds()) {
        to << "  " << what << ": " << seen.count << " x " << kind;
        if (!seen.first_text.empty()) to << ", the first: " << seen.first_text;
        to << '\n';
    }
}

void print_head(std::ostream& to)
{
    to << std::left << std::setw(28) << "" << std::right << std::setw(10) << "count";
    for (const auto* name : {"mean", "p50", "p90", "p95", "p99", "p99.9", "max"}) to << std::setw(11) << name;
    to << '\n';
}

void print_row(std::ostream& to, const std::string& name, const histogram& values)
{
    if (values.count() == 0) return;
    to << std::left << std::setw(28) << name << std::right << std::setw(10) << values.count() << std::setw(11)
       << duration_text(static_cast<std::int64_t>(values.mean()));
    for (double percent : {50.0, 90.0, 95.0, 99.0, 99.9})
        to << std::setw(11) << duration_text(values.percentile(percent));
    to << std::setw(11) << duration_text(values.max()) << '\n';
}

// In a closed loop a call is sent when it is due.
void print_calls(std::ostream& to, const std::string& name, const call_figures& calls, bool open_loop)
{
    print_row(to, name, calls.latency);
    if (open_loop) print_row(to, "  since it was sent", calls.service);
    print_row(to, "  to first output", calls.first_progress);
    print_row(to, "  gaps of output", calls.gap);
}

void print_output(std::ostream& to, const call_figures& all)
{
    if (all.progress + all.heartbeats == 0) return;
    to << "output: " << all.progress << " messages with " << all.output_bytes / 1024 << " KiB, " << all.heartbeats
       << " heartbeats";
    if (all.output_gaps != 0) to << "; output is missing in " << all.output_gaps << " places";
    to << '\n';
}

void print_title(std::ostream& to, const load_options& chosen, const load_result& found)
{
    to << chosen.target() << ", " << to_string(chosen.transport);
    if (!found.revision.empty()) to << ' ' << found.revision;
    to << ", " << chosen.sessions << " sessions";
    if (chosen.idle != 0) to << " + " << chosen.idle << " idle";
    if (chosen.slow != 0) to << " + " << chosen.slow << " slow";
    if (chosen.rate > 0)
        to << ", open loop at " << chosen.rate << " calls/s";
    else
        to << ", closed loop";
    to << ", " << fixed(found.seconds, 1) << " s" << (found.interrupted ? " (interrupted)" : "") << "\n\n";
}

void print_server(std::ostream& to, const load_result& found, const summary& told)
{
    if (!found.before_load || !found.at_end) return;
    to << "server: " << fixed(told.cpu_us_per_call, 1) << " us of CPU a call, "
       << fixed(static_cast<double>(found.at_end->anonymous) / (1 << 20), 1) << " MiB of own memory, "
       << found.at_end->descriptors << " descriptors";
    if (told.bytes_per_session > 0) to << ", " << fixed(told.bytes_per_session / 1000, 2) << " kB a session opened";
    to << '\n';
}

}  // namespace

summary::summary(const load_options&, const load_result& found)
{
    auto calls = found.record.all();
    auto answered = calls.succeeded + calls.failed() + found.record.slow.succeeded;
    if (found.seconds > 0) calls_per_second = static_cast<double>(found.in_time) / found.seconds;
    if (found.before_load && found.at_end && answered != 0)
        cpu_us_per_call =
            (found.at_end->cpu_seconds - found.before_load->cpu_seconds) * 1e6 / static_cast<double>(answered);
    if (!found.at_start || !found.when_open || found.opened == 0) return;
    auto grown = static_cast<double>(found.when_open->anonymous) - static_cast<double>(found.at_start->anonymous);
    bytes_per_session = grown / static_cast<double>(found.opened);
}

json::object report_json(const load_options& chosen, const load_result& found, const std::vector<verdict>& verdicts)
{
    summary told(chosen, found);
    json::object report;
    report["tool"] = "container-mcp-load " CMCP_VERSION;
    report["options"] = describe(chosen);
    report["revision"] = found.revision;
    report["interrupted"] = found.interrupted;
    report["seconds"] = found.seconds;
    report["calls_per_second"] = told.calls_per_second;
    report["all"] = describe(found.record.all());
    report["thresholds"] = describe(verdicts);
    json::object by_call;
    for (std::size_t i = 0; i < chosen.calls.size(); ++i)
        by_call[chosen.calls[i].name] = describe(found.record.calls[i]);
    report["calls"] = std::move(by_call);
    if (chosen.slow != 0) report["slow_readers"] = describe(found.record.slow);
    json::object sessions;
    sessions["opened"] = found.opened;
    sessions["opening_seconds"] = found.opening_seconds;
    sessions["opening_us"] = describe(found.record.opening);
    sessions["opening_errors"] = describe(found.record.opening_errors);
    sessions["first_error_texts"] = first_texts(found.record.opening_errors);
    sessions["idle_at_the_end"] = found.idle_open;
    sessions["idle_lost"] = found.record.lost_streams;
    report["sessions"] = std::move(sessions);
    report["bytes_in"] = found.record.bytes_in;
    report["bytes_out"] = found.record.bytes_out;
    if (!chosen.health.empty()) {
        report["health_us"] = describe(found.record.health);
        report["health_errors"] = describe(found.record.health_errors);
    }
    if (!found.at_end || !found.before_load) return report;
    json::object server;
    server["cpu_us_per_call"] = told.cpu_us_per_call;
    server["bytes_per_session"] = told.bytes_per_session;
    server["before_load"] = describe(*found.before_load);
    server["at_end"] = describe(*found.at_end);
    report["server"] = std::move(server);
    return report;
}

void print_report(std::ostream& to, const load_options& chosen, const load_result& found)
{
    summary told(chosen, found);
    auto all = found.record.all();
    bool open_loop = chosen.rate > 0;
    print_title(to, chosen, found);
    to << fixed(told.calls_per_second, 1) << " calls/s, " << all.succeeded << " succeeded, " << all.failed()
       << " failed, " << found.record.bytes_in / 1024 << " KiB in, " << found.record.bytes_out / 1024 << " KiB out\n";
    print_errors(to, "calls", all.errors);
    print_errors(to, "calls of slow readers", found.record.slow.errors);
    print_errors(to, "opening", found.record.opening_errors);
    print_errors(to, "health", found.record.health_errors);
    if (found.record.lost_streams != 0) to << "  idle sessions lost: " << found.record.lost_streams << '\n';
    print_output(to, all);
    print_server(to, found, told);
    to << '\n';
    print_head(to);
    if (chosen.calls.size() > 1) print_calls(to, "all", all, open_loop);
    for (std::size_t i = 0; i < chosen.calls.size(); ++i)
        print_calls(to, chosen.calls[i].name, found.record.calls[i], open_loop);
    print_calls(to, "slow readers", found.record.slow, false);
    print_row(to, "opening a session", found.record.opening);
    if (!chosen.health.empty()) print_row(to, chosen.health, found.record.health);
}

// The figures of the last second: an average since the start hides what happens now.
void print_tick(std::ostream& to, const load_run& running)
{
    const auto& found = running.result();
    if (running.phase_seconds() < 0.5) return;
    if (!running.loading()) {
        to << running.phase_name() << ": " << found.opened << " sessions\n";
        return;
    }
    const auto& recent = found.record.recent;
    to << fixed(running.phase_seconds(), 0)
       << " s: " << fixed(static_cast<double>(recent.succeeded) / running.recent_seconds(), 0) << " calls/s, p50 "
       << duration_text(recent.latency.percentile(50)) << ", p99 " << duration_text(recent.latency.percentile(99))
       << ", " << recent.failed << " failed, " << running.waiting() << " waiting\n";
}

}  // namespace cmcp::load
