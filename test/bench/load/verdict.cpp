#include "load/verdict.hpp"

#include "load/report.hpp"

#include <algorithm>
#include <iomanip>
#include <optional>

namespace cmcp::load {

namespace {

const histogram& timed(threshold::figure of, const call_figures& calls, const recorder& record)
{
    switch (of) {
        case threshold::figure::service:
            return calls.service;
        case threshold::figure::first_progress:
            return calls.first_progress;
        case threshold::figure::gap:
            return calls.gap;
        case threshold::figure::opening:
            return record.opening;
        case threshold::figure::health:
            return record.health;
        default:
            return calls.latency;
    }
}

double statistic_of(const histogram& times, double statistic)
{
    if (statistic == threshold::mean) return times.mean();
    return static_cast<double>(statistic == threshold::maximum ? times.max() : times.percentile(statistic));
}

verdict judge_errors(const threshold& limit, const call_figures& calls)
{
    auto failed = static_cast<double>(calls.failed());
    if (calls.answered() == 0) return {limit.expression, "no call ended", true};
    bool share = limit.in == threshold::unit::percent;
    auto value = share ? failed * 100 / static_cast<double>(calls.answered()) : failed;
    auto text = std::to_string(calls.failed()) + " of " + std::to_string(calls.answered()) + " calls";
    if (share) text = fixed(value, 2) + " % (" + text + ")";
    return {limit.expression, text, limit.broken_by(value)};
}

verdict judge_time(const threshold& limit, const histogram& times)
{
    if (times.count() == 0) return {limit.expression, "nothing to measure", true};
    auto value = statistic_of(times, limit.statistic);
    return {limit.expression, duration_text(static_cast<std::int64_t>(value)), limit.broken_by(value)};
}

call_figures figures_of(const std::string& call, const load_options& options, const load_result& result)
{
    if (call == "iteration") return result.iterations;
    const auto named = std::ranges::find(options.calls, call, &operation::name);
    return named == options.calls.end() ? call_figures()
                                        : result.record.calls[static_cast<std::size_t>(named - options.calls.begin())];
}

verdict judge_one(const threshold& limit, const load_options& options, const load_result& result)
{
    auto calls = limit.call.empty() ? result.record.all() : figures_of(limit.call, options, result);
    if (limit.of == threshold::figure::errors) return judge_errors(limit, calls);
    if (limit.of != threshold::figure::rate) return judge_time(limit, timed(limit.of, calls, result.record));
    auto rate = summary(options, result).calls_per_second;
    return {limit.expression, fixed(rate, 1) + " calls/s", limit.broken_by(rate)};
}

}  // namespace

std::vector<verdict> judge(const load_options& options, const load_result& result)
{
    std::vector<verdict> all;
    for (const auto& limit : options.thresholds) all.push_back(judge_one(limit, options, result));
    if (!all.empty() || options.sessions == 0) return all;
    all.push_back(judge_one(default_threshold(), options, result));
    all.back().by_default = true;
    return all;
}

bool any_failed(const std::vector<verdict>& all)
{
    return std::any_of(all.begin(), all.end(), [](const verdict& each) { return each.failed; });
}

void print_verdicts(std::ostream& to, const std::vector<verdict>& all)
{
    for (const auto& each : all) {
        if (each.by_default && !each.failed) continue;
        to << (each.failed ? "✗ " : "✓ ") << std::left << std::setw(32) << each.value << " fails if " << each.expression
           << (each.by_default ? ", as long as there is no --fail-if" : "") << '\n';
    }
}

}  // namespace cmcp::load
