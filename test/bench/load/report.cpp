#include "load/report.hpp"

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

json::object describe(const load_options& options)
{
    json::object described;
    described["transport"] = to_string(options.transport);
    described["server"] = options.target();
    described["sessions"] = options.sessions;
    described["idle"] = options.idle;
    described["slow"] = options.slow;
    described["rate"] = options.rate;
    described["loop"] = options.rate > 0 ? "open" : "closed";
    described["progress"] = options.progress;
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

void print_title(std::ostream& to, const load_options& options, const load_result& result)
{
    to << options.target() << ", " << to_string(options.transport);
    if (!result.revision.empty()) to << ' ' << result.revision;
    to << ", " << options.sessions << " sessions";
    if (options.idle != 0) to << " + " << options.idle << " idle";
    if (options.slow != 0) to << " + " << options.slow << " slow";
    if (options.rate > 0)
        to << ", open loop at " << options.rate << " calls/s";
    else
        to << ", closed loop";
    to << ", " << fixed(result.seconds, 1) << " s" << (result.interrupted ? " (interrupted)" : "") << "\n\n";
}

void print_server(std::ostream& to, const load_result& result, const summary& figures)
{
    if (!result.before_load || !result.at_end) return;
    to << "server: " << fixed(figures.cpu_us_per_call, 1) << " us of CPU a call, "
       << fixed(static_cast<double>(result.at_end->anonymous) / (1 << 20), 1) << " MiB of own memory, "
       << result.at_end->descriptors << " descriptors";
    if (figures.bytes_per_session > 0)
        to << ", " << fixed(figures.bytes_per_session / 1000, 2) << " kB a session opened";
    to << '\n';
}

}  // namespace

summary::summary(const load_options&, const load_result& result)
{
    auto calls = result.record.all();
    auto answered = calls.succeeded + calls.failed() + result.record.slow.succeeded;
    if (result.seconds > 0) calls_per_second = static_cast<double>(result.in_time) / result.seconds;
    if (result.before_load && result.at_end && answered != 0)
        cpu_us_per_call =
            (result.at_end->cpu_seconds - result.before_load->cpu_seconds) * 1e6 / static_cast<double>(answered);
    if (!result.at_start || !result.when_open || result.opened == 0) return;
    auto grown = static_cast<double>(result.when_open->anonymous) - static_cast<double>(result.at_start->anonymous);
    bytes_per_session = grown / static_cast<double>(result.opened);
}

json::object report_json(const load_options& options, const load_result& result, const std::vector<verdict>& verdicts)
{
    summary figures(options, result);
    json::object report;
    report["tool"] = "container-mcp-load " CMCP_VERSION;
    report["options"] = describe(options);
    report["revision"] = result.revision;
    report["interrupted"] = result.interrupted;
    report["seconds"] = result.seconds;
    report["calls_per_second"] = figures.calls_per_second;
    report["all"] = describe(result.record.all());
    report["thresholds"] = describe(verdicts);
    json::object by_call;
    for (std::size_t i = 0; i < options.calls.size(); ++i)
        by_call[options.calls[i].name] = describe(result.record.calls[i]);
    report["calls"] = std::move(by_call);
    if (options.slow != 0) report["slow_readers"] = describe(result.record.slow);
    json::object sessions;
    sessions["opened"] = result.opened;
    sessions["opening_seconds"] = result.opening_seconds;
    sessions["opening_us"] = describe(result.record.opening);
    sessions["opening_errors"] = describe(result.record.opening_errors);
    sessions["first_error_texts"] = first_texts(result.record.opening_errors);
    sessions["idle_at_the_end"] = result.idle_open;
    sessions["idle_lost"] = result.record.lost_streams;
    report["sessions"] = std::move(sessions);
    report["bytes_in"] = result.record.bytes_in;
    report["bytes_out"] = result.record.bytes_out;
    if (!options.health.empty()) {
        report["health_us"] = describe(result.record.health);
        report["health_errors"] = describe(result.record.health_errors);
    }
    if (!result.at_end || !result.before_load) return report;
    json::object server;
    server["cpu_us_per_call"] = figures.cpu_us_per_call;
    server["bytes_per_session"] = figures.bytes_per_session;
    server["before_load"] = describe(*result.before_load);
    server["at_end"] = describe(*result.at_end);
    report["server"] = std::move(server);
    return report;
}

void print_report(std::ostream& to, const load_options& options, const load_result& result)
{
    summary figures(options, result);
    auto all = result.record.all();
    bool open_loop = options.rate > 0;
    print_title(to, options, result);
    to << fixed(figures.calls_per_second, 1) << " calls/s, " << all.succeeded << " succeeded, " << all.failed()
       << " failed, " << result.record.bytes_in / 1024 << " KiB in, " << result.record.bytes_out / 1024 << " KiB out\n";
    print_errors(to, "calls", all.errors);
    print_errors(to, "calls of slow readers", result.record.slow.errors);
    print_errors(to, "opening", result.record.opening_errors);
    print_errors(to, "health", result.record.health_errors);
    if (result.record.lost_streams != 0) to << "  idle sessions lost: " << result.record.lost_streams << '\n';
    print_output(to, all);
    print_server(to, result, figures);
    to << '\n';
    print_head(to);
    if (options.calls.size() > 1) print_calls(to, "all", all, open_loop);
    for (std::size_t i = 0; i < options.calls.size(); ++i)
        print_calls(to, options.calls[i].name, result.record.calls[i], open_loop);
    print_calls(to, "slow readers", result.record.slow, false);
    print_row(to, "opening a session", result.record.opening);
    if (!options.health.empty()) print_row(to, options.health, result.record.health);
}

// The line shows the last second, because an average since the start hides the present.
void print_tick(std::ostream& to, const load_run& running)
{
    const auto& result = running.result();
    if (running.phase_seconds() < 0.5) return;
    if (!running.loading()) {
        to << running.phase_name() << ": " << result.opened << " sessions\n";
        return;
    }
    const auto& recent = result.record.recent;
    to << fixed(running.phase_seconds(), 0)
       << " s: " << fixed(static_cast<double>(recent.succeeded) / running.recent_seconds(), 0) << " calls/s, p50 "
       << duration_text(recent.latency.percentile(50)) << ", p99 " << duration_text(recent.latency.percentile(99))
       << ", " << recent.failed << " failed, " << running.waiting() << " waiting\n";
}

std::string fixed(double value, int digits)
{
    std::ostringstream text;
    text << std::fixed << std::setprecision(digits) << value;
    return text.str();
}

std::string duration_text(std::int64_t nanoseconds)
{
    auto ns = static_cast<double>(nanoseconds);
    if (ns < 1e6) return fixed(ns / 1e3, 0) + " us";
    return ns < 1e9 ? fixed(ns / 1e6, ns < 1e8 ? 2 : 0) + " ms" : fixed(ns / 1e9, 2) + " s";
}

}  // namespace cmcp::load
