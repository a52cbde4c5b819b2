#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace cmcp {

/// The number that all of `text` is, by std::from_chars: no sign "+", no blanks. Nothing for other text and for numbers
/// that the type does not hold.
template <class Number = std::uint64_t>
std::optional<Number> read_number(std::string_view text, int base = 10)
{
    Number value{};
    const char* const last = text.data() + text.size();
    std::from_chars_result read{};
    if constexpr (std::is_floating_point_v<Number>)
        read = std::from_chars(text.data(), last, value);
    else
        read = std::from_chars(text.data(), last, value, base);
    return read.ec == std::errc() && read.ptr == last ? std::optional(value) : std::nullopt;
}

}  // namespace cmcp
