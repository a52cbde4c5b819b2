#include "load/report.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace cmcp::load {

namespace {

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

// A row a server, and under it why its calls failed.
class split_printer {
public:
    split_printer(std::ostream& to, std::string title, double seconds)
        : to_(to), title_(std::move(title)), seconds_(seconds)
    {
    }

    void add(const std::string& name, const server_figures& calls)
    {
        rows_.emplace_back(name, &calls);
        width_ = std::max(width_, static_cast<int>(name.size()));
    }

    void print() const
    {
        to_ << '\n' << std::left << std::setw(width_) << title_ << std::right;
        for (const auto* name : {"succeeded", "failed", "calls/s", "p50", "p99", "max"}) to_ << std::setw(11) << name;
        to_ << '\n';
        for (const auto& [name, calls] : rows_) print(name, *calls);
    }

private:
    void print(const std::string& name, const server_figures& calls) const
    {
        to_ << std::left << std::setw(width_) << name << std::right << std::setw(11) << calls.succeeded << std::setw(11)
            << calls.errors.sum() << std::setw(11) << fixed(calls_a_second(calls, seconds_), 1);
        for (double percent : {50.0, 99.0, 100.0})
            to_ << std::setw(11) << duration_text(calls.latency.percentile(percent));
        to_ << '\n';
        print_errors(to_, "calls", calls.errors);
        print_errors(to_, "opening", calls.opening_errors);
    }

    std::ostream& to_;
    std::string title_;
    double seconds_;
    int width_ = 28;
    std::vector<std::pair<std::string, const server_figures*>> rows_;
};

void print_addresses(std::ostream& to, const load_options& options, const load_result& result)
{
    if (options.servers.size() < 2) return;
    split_printer split(to, "by address", result.seconds);
    for (std::size_t i = 0; i < options.servers.size(); ++i)
        split.add(options.servers[i].url(), result.record.by_address[i]);
    split.print();
}

void print_names(std::ostream& to, const load_result& result)
{
    if (result.record.by_name.empty()) return;
    split_printer split(to, "by X-Served-By", result.seconds);
    for (const auto& [name, calls] : result.record.by_name) split.add(name, calls);
    split.print();
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
    if (options.scenario) to << ", scenario " << options.scenario->name;
    if (options.has_stages())
        to << ", open loop in stages";
    else if (options.rate > 0)
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

void print_report(std::ostream& to, const load_options& options, const load_result& result)
{
    summary figures(options, result);
    auto all = result.record.all();
    bool open_loop = options.is_open_loop();
    print_title(to, options, result);
    to << fixed(figures.calls_per_second, 1) << " calls/s, " << all.succeeded << " succeeded, " << all.failed()
       << " failed, " << result.record.bytes_in / 1024 << " KiB in, " << result.record.bytes_out / 1024 << " KiB out\n";
    print_errors(to, "calls", all.errors);
    print_errors(to, "iterations", result.iterations.errors);
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
    print_row(to, "iteration", result.iterations.latency);
    print_calls(to, "slow readers", result.record.slow, false);
    print_row(to, "opening a session", result.record.opening);
    if (!options.health.empty()) print_row(to, options.health, result.record.health);
    print_addresses(to, options, result);
    print_names(to, result);
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

double calls_a_second(const server_figures& calls, double seconds)
{
    return seconds > 0 ? static_cast<double>(calls.in_time) / seconds : 0;
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
