#include "load/threshold.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <stdexcept>

namespace cmcp::load {

namespace {

using figure = threshold::figure;
using unit = threshold::unit;

const std::map<std::string_view, figure> timed_figures{
    {"latency", figure::latency}, {"service", figure::service}, {"first_progress", figure::first_progress},
    {"gap", figure::gap},         {"opening", figure::opening}, {"health", figure::health}};

const std::map<std::string_view, double> statistics{{"p50", 50},
                                                    {"p90", 90},
                                                    {"p95", 95},
                                                    {"p99", 99},
                                                    {"p999", 99.9},
                                                    {"p99.9", 99.9},
                                                    {"mean", threshold::mean},
                                                    {"max", threshold::maximum}};

const std::map<std::string_view, double> nanoseconds_of{{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};

[[noreturn]] void refuse_threshold(const threshold& parsed, const std::string& why)
{
    throw std::invalid_argument("--fail-if '" + parsed.expression + "': " + why);
}

bool is_figure(std::string_view name)
{
    return name == "errors" || statistics.contains(name) || timed_figures.contains(name.substr(0, name.find('.')));
}

// The name of a call has no dot.
void read_figure(threshold& into, std::string_view name)
{
    if (const auto dot = name.find('.'); dot != std::string_view::npos &&
                                         !timed_figures.contains(name.substr(0, dot)) &&
                                         is_figure(name.substr(dot + 1))) {
        into.call = name.substr(0, dot);
        name.remove_prefix(dot + 1);
    }
    if (name == "errors" || name == "rps") {
        into.of = name == "rps" ? figure::rate : figure::errors;
        into.in = name == "rps" ? unit::a_second : unit::count;
        return;
    }
    auto dot = name.find('.');
    auto prefix = dot == std::string_view::npos ? timed_figures.end() : timed_figures.find(name.substr(0, dot));
    if (prefix != timed_figures.end()) {
        into.of = prefix->second;
        name.remove_prefix(dot + 1);
    }
    auto statistic = statistics.find(name);
    if (statistic == statistics.end())
        refuse_threshold(
            into,
            "a figure is p50, p90, p95, p99, p999, max or mean, such a one after first_progress., gap., service., "
            "opening. or health., errors or rps, as in 'p99>50ms' or 'first_progress.p99>100ms'");
    into.statistic = statistic->second;
}

void read_unit(threshold& into, std::string_view name)
{
    if (into.of == figure::rate) {
        if (!name.empty()) refuse_threshold(into, "calls a second have no unit, as in 'rps<1000'");
        return;
    }
    if (into.of == figure::errors) {
        if (!name.empty() && name != "%")
            refuse_threshold(into, "failed calls are a share or a number, as in 'errors>0.1%' or 'errors>5'");
        if (name == "%") into.in = unit::percent;
        return;
    }
    auto known = nanoseconds_of.find(name);
    if (known == nanoseconds_of.end()) refuse_threshold(into, "a time needs its unit, us, ms or s, as in 'p99>50ms'");
    into.bound *= known->second;
}

}  // namespace

bool threshold::broken_by(double value) const
{
    if (value == bound) return at_bound;
    return above ? value > bound : value < bound;
}

threshold parse_threshold(std::string_view text)
{
    threshold parsed;
    std::copy_if(text.begin(), text.end(), std::back_inserter(parsed.expression), [](char c) { return c != ' '; });
    std::string_view rest = parsed.expression;
    auto sign = rest.find_first_of("<>");
    if (sign == std::string_view::npos)
        refuse_threshold(parsed, "a comparison with > or < is missing, as in 'p99>50ms'");
    read_figure(parsed, rest.substr(0, sign));
    parsed.above = rest[sign] == '>';
    parsed.at_bound = rest.substr(sign + 1, 1) == "=";
    rest.remove_prefix(sign + (parsed.at_bound ? 2 : 1));
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), parsed.bound);
    if (error != std::errc() || !(parsed.bound >= 0))
        refuse_threshold(parsed, "a number must follow the comparison, as in 'p99>50ms'");
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    read_unit(parsed, rest);
    return parsed;
}

threshold default_threshold() { return parse_threshold("errors>1%"); }

}  // namespace cmcp::load
