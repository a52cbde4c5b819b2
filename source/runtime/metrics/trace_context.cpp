#include "metrics/trace_context.hpp"

#include <algorithm>
#include <utility>

namespace cmcp::metrics {

namespace {

// Only lower case is allowed.
bool is_hex(std::string_view text)
{
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool all_zero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

}  // namespace

std::optional<trace_parent> parse_traceparent(std::string_view traceparent)
{
    // version "-" trace-id "-" parent-id "-" flags; a later version may add more behind another "-".
    if (traceparent.size() < 55 || traceparent[2] != '-' || traceparent[35] != '-' || traceparent[52] != '-')
        return std::nullopt;
    auto version = traceparent.substr(0, 2), trace = traceparent.substr(3, 32), parent = traceparent.substr(36, 16);
    auto flags = traceparent.substr(53, 2);
    if (!is_hex(version) || version == "ff" || !is_hex(trace) || !is_hex(parent) || !is_hex(flags)) return std::nullopt;
    bool longer = traceparent.size() > 55;
    if (longer && (version == "00" || traceparent[55] != '-')) return std::nullopt;
    if (all_zero(trace) || all_zero(parent)) return std::nullopt;
    return trace_parent{std::string(trace), std::string(parent), (std::stoi(std::string(flags), nullptr, 16) & 1) != 0};
}

std::optional<std::string> trace_id(std::string_view traceparent)
{
    auto parent = parse_traceparent(traceparent);
    return parent ? std::optional(std::move(parent->trace)) : std::nullopt;
}

}  // namespace cmcp::metrics
