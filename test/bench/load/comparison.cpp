#include "load/comparison.hpp"

#include "load/report.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>

namespace cmcp::load {

namespace {

using numbers = std::vector<double>;

constexpr std::size_t fewest_seconds = 5;
constexpr double smallest_change = 0.05;  // that anybody cares about

const json::value* at(const json::object& of, std::string_view name)
{
    return of.if_contains(json::string_view(name.data(), name.size()));
}

double number(const json::object& of, std::string_view name)
{
    const auto* value = at(of, name);
    return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
}

// A value of each second that has one. Empty name: calls a second.
numbers seconds_of(const json::object& report, const std::string& name)
{
    numbers all;
    const auto* series = at(report, "series");
    if (series == nullptr || !series->is_array()) return all;
    for (const auto& each : series->get_array()) {
        if (!each.is_object()) continue;
        const auto& second = each.get_object();
        if (name.empty()) {
            if (number(second, "seconds") > 0) all.push_back(number(second, "succeeded") / number(second, "seconds"));
            continue;
        }
        const auto* calls = at(second, "calls_p50_us");
        const bool is_of_all = name == "p50_us" || name == "p99_us";
        const double value = is_of_all                                ? number(second, name)
                             : calls != nullptr && calls->is_object() ? number(calls->get_object(), name)
                                                                      : 0;
        if (value > 0) all.push_back(value);
    }
    return all;
}

double mean(const numbers& values)
{
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Of the mean, squared.
double uncertainty(const numbers& values)
{
    const double middle = mean(values);
    double squares = 0;
    for (const double each : values) squares += (each - middle) * (each - middle);
    const auto count = static_cast<double>(values.size());
    return squares / (count - 1) / count;
}

// Three standard errors, and half as much again because a second resembles the one before.
std::optional<comparison> compare_one(const numbers& before, const numbers& after)
{
    if (before.size() < fewest_seconds || after.size() < fewest_seconds) return std::nullopt;
    constexpr double certainty = 4.5;
    comparison one;
    one.before = mean(before);
    one.after = mean(after);
    if (one.before <= 0) return std::nullopt;
    one.change = one.after / one.before - 1;
    one.noise = std::max(smallest_change, certainty * std::sqrt(uncertainty(before) + uncertainty(after)) / one.before);
    return one;
}

comparison compare_figure(const std::string& figure, const std::string& name, bool more_is_better,
                          const json::object& now, const std::vector<json::object>& earlier)
{
    comparison nearest;
    bool is_worse = true, is_better = true;
    for (const auto& report : earlier) {
        const auto one = compare_one(seconds_of(report, name), seconds_of(now, name));
        if (!one) continue;
        const double harm = more_is_better ? -one->change : one->change;
        is_worse = is_worse && harm > one->noise;
        is_better = is_better && harm < -one->noise;
        const bool is_nearer = nearest.before == 0 || std::abs(one->change) < std::abs(nearest.change);
        if (is_nearer) nearest = *one;
    }
    nearest.figure = figure;
    if (nearest.before == 0) return nearest;
    nearest.is = is_worse    ? comparison::outcome::worse
                 : is_better ? comparison::outcome::better
                             : comparison::outcome::same;
    return nearest;
}

std::set<std::string> calls_of(const json::object& report)
{
    std::set<std::string> names;
    const auto* calls = at(report, "calls");
    if (calls != nullptr && calls->is_object())
        for (const auto& [name, value] : calls->get_object()) names.insert(std::string(name));
    return names;
}

bool is_same(const json::value& one, const json::value& other)
{
    if (one.is_number() && other.is_number()) return one.to_number<double>() == other.to_number<double>();
    return one == other;
}

void check_same_test(const json::object& now, const json::object& earlier)
{
    const auto* here = at(now, "options");
    const auto* there = at(earlier, "options");
    if (here == nullptr || there == nullptr || !here->is_object() || !there->is_object())
        throw std::invalid_argument("--compare: that is no report of container-mcp-load");
    for (const char* name : {"transport", "sessions", "slow", "rate", "loop", "progress"}) {
        const auto* one = at(here->get_object(), name);
        const auto* other = at(there->get_object(), name);
        if (one == nullptr || other == nullptr || !is_same(*one, *other))
            throw std::invalid_argument(std::string("--compare: the earlier test had another value of \"") + name +
                                        "\": " + (other == nullptr ? "none" : json::serialize(*other)));
    }
    if (calls_of(now) != calls_of(earlier)) throw std::invalid_argument("--compare: the earlier test made other calls");
}

}  // namespace

std::vector<comparison> compare(const json::object& now, const std::vector<json::object>& earlier)
{
    for (const auto& each : earlier) check_same_test(now, each);
    std::vector<comparison> all{compare_figure("calls/s", "", true, now, earlier),
                                compare_figure("p50", "p50_us", false, now, earlier),
                                compare_figure("p99", "p99_us", false, now, earlier)};
    const auto names = calls_of(now);
    if (names.size() < 2) return all;
    for (const auto& name : names) all.push_back(compare_figure(name + " p50", name, false, now, earlier));
    return all;
}

json::object read_report(const std::filesystem::path& file)
{
    std::ifstream from(file);
    const std::string text{std::istreambuf_iterator<char>(from), {}};
    boost::system::error_code error;
    auto value = json::parse(text, error);
    if (error || !value.is_object())
        throw std::invalid_argument("--compare " + file.string() + ": that is no report of container-mcp-load");
    return std::move(value.get_object());
}

std::string words_of(const comparison& each)
{
    if (each.is == comparison::outcome::unknown)
        return each.figure + ": not compared; each test needs " + std::to_string(fewest_seconds) +
               " seconds with such calls";
    const bool is_rate = each.figure == "calls/s";
    const auto shown = [&](double value) {
        return is_rate ? fixed(value, 1) : duration_text(static_cast<std::int64_t>(value * 1e3));
    };
    const auto share = [](double value) { return fixed(value * 100, 0) + " %"; };
    std::string words = each.figure + ": " + shown(each.before) + " -> " + shown(each.after) + ", " +
                        (each.change < 0 ? "" : "+") + share(each.change) + " (noise " + share(each.noise) + "): ";
    switch (each.is) {
        case comparison::outcome::worse:
            return words + (is_rate ? "fewer" : "slower");
        case comparison::outcome::better:
            return words + (is_rate ? "more" : "faster");
        default:
            return words + "the same";
    }
}

bool any_worse(const std::vector<comparison>& all)
{
    return std::ranges::any_of(all, [](const comparison& each) { return each.is == comparison::outcome::worse; });
}

}  // namespace cmcp::load
