#include "load/report.hpp"
#include "prebuilt/version.hpp"

#include <sstream>

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

json::object describe(const server_figures& calls, double seconds)
{
    json::object described;
    described["succeeded"] = calls.succeeded;
    described["failed"] = calls.errors.sum();
    described["errors"] = describe(calls.errors);
    described["calls_per_second"] = calls_a_second(calls, seconds);
    described["latency_us"] = describe(calls.latency);
    described["opening_errors"] = describe(calls.opening_errors);
    return described;
}

json::array describe_addresses(const load_options& options, const load_result& result)
{
    json::array described;
    for (std::size_t i = 0; i < options.servers.size(); ++i) {
        auto row = describe(result.record.by_address[i], result.seconds);
        row["address"] = options.servers[i].url();
        described.push_back(std::move(row));
    }
    return described;
}

json::object describe_names(const load_result& result)
{
    json::object described;
    for (const auto& [name, calls] : result.record.by_name) described[name] = describe(calls, result.seconds);
    return described;
}

json::object describe_sessions(const load_result& result)
{
    json::object sessions;
    sessions["opened"] = result.opened;
    sessions["opening_seconds"] = result.opening_seconds;
    sessions["opening_us"] = describe(result.record.opening);
    sessions["opening_errors"] = describe(result.record.opening_errors);
    sessions["first_error_texts"] = first_texts(result.record.opening_errors);
    sessions["idle_at_the_end"] = result.idle_open;
    sessions["idle_lost"] = result.record.lost_streams;
    return sessions;
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
    described["loop"] = options.is_open_loop() ? "open" : "closed";
    described["progress"] = options.progress;
    return described;
}

json::array describe_series(const load_options& options, const load_result& result)
{
    json::array described;
    for (const auto& each : result.series) {
        json::object calls;
        for (const auto& [kind, p50] : each.calls) calls[options.calls[kind].name] = static_cast<double>(p50) / 1e3;
        described.push_back({{"seconds", each.seconds},
                             {"succeeded", each.succeeded},
                             {"failed", each.failed},
                             {"p50_us", static_cast<double>(each.p50) / 1e3},
                             {"p99_us", static_cast<double>(each.p99) / 1e3},
                             {"calls_p50_us", std::move(calls)}});
    }
    return described;
}

json::array describe(const std::vector<verdict>& verdicts)
{
    json::array described;
    for (const auto& each : verdicts)
        described.push_back({{"fail_if", each.expression}, {"value", each.value}, {"failed", each.failed}});
    return described;
}

}  // namespace

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
    report["series"] = describe_series(options, result);
    if (options.scenario) report["scenario"] = options.scenario->name;
    if (options.scenario) report["iterations"] = describe(result.iterations);
    if (options.slow != 0) report["slow_readers"] = describe(result.record.slow);
    if (options.servers.size() > 1) report["servers"] = describe_addresses(options, result);
    if (!result.record.by_name.empty()) report["served_by"] = describe_names(result);
    report["sessions"] = describe_sessions(result);
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

}  // namespace cmcp::load
