#include "rest/byte_range.hpp"

#include "text/number.hpp"

#include <algorithm>

namespace cmcp {

namespace {

byte_range whole(std::uint64_t size) { return {byte_range::kind::whole, 0, size}; }

byte_range last_bytes(std::string_view count, std::uint64_t size)
{
    const auto wanted = read_number(count);
    if (!wanted) return whole(size);
    const auto length = std::min(*wanted, size);
    if (length == 0) return {byte_range::kind::unsatisfiable, 0, 0};
    return {byte_range::kind::part, size - length, length};
}

}  // namespace

byte_range read_range(std::optional<std::string_view> header, std::uint64_t size)
{
    constexpr std::string_view unit = "bytes=";
    if (!header || !header->starts_with(unit) || header->find(',') != std::string_view::npos) return whole(size);
    const auto text = header->substr(unit.size());
    const auto dash = text.find('-');
    if (dash == std::string_view::npos) return whole(size);
    if (dash == 0) return last_bytes(text.substr(1), size);
    const auto first = read_number(text.substr(0, dash));
    const auto rest = text.substr(dash + 1);
    const auto last = rest.empty() ? std::optional(size == 0 ? 0 : size - 1) : read_number(rest);
    if (!first || !last || *last < *first)
        return rest.empty() && first && *first >= size ? byte_range{byte_range::kind::unsatisfiable, 0, 0}
                                                       : whole(size);
    if (*first >= size) return {byte_range::kind::unsatisfiable, 0, 0};
    return {byte_range::kind::part, *first, std::min(*last, size - 1) - *first + 1};
}

}  // namespace cmcp
