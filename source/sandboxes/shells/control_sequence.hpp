#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

/// The control sequences of a terminal's output (ECMA-48, and xterm's own).
namespace cmcp {

inline constexpr std::size_t longest_sequence = 8192;  ///< bytes; a longer one is none
inline constexpr char terminal_escape = '\x1b', terminal_bell = '\x07';

/// The length of the control sequence that `text` begins with, ESC first; 0: it is cut off.
inline std::size_t sequence_length(std::string_view text)
{
    if (text.size() < 2) return 0;
    std::size_t end = 2;
    if (text[1] == '[') {
        while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
        return end < text.size() ? end + 1 : 0;
    }
    if (std::string_view("]PX^_").find(text[1]) != std::string_view::npos) {  // a string up to BEL or ESC backslash
        for (; end < text.size(); ++end) {
            if (text[end] == terminal_bell) return end + 1;
            if (text[end] == terminal_escape) return end + 1 < text.size() ? end + 2 : 0;
        }
        return 0;
    }
    if (text[1] < ' ' || text[1] > '/') return 2;
    while (end < text.size() && text[end] >= ' ' && text[end] <= '/') ++end;  // as for character sets
    return end < text.size() ? end + 1 : 0;
}

/// ESC [ parameters final. Numbers that are left out are nothing.
struct control_sequence {
    char mark = 0;  ///< beside the numbers, as '?': the sequence is another one; 0: none
    std::vector<std::optional<std::size_t>> numbers;
    char final = 0;

    explicit control_sequence(std::string_view whole) : final(whole.back())
    {
        std::string_view rest = whole.substr(2, whole.size() - 3);
        if (!rest.empty() && rest.front() >= '<' && rest.front() <= '?') {
            mark = rest.front();
            rest.remove_prefix(1);
        }
        if (!rest.empty() && rest.back() >= ' ' && rest.back() <= '/') mark = rest.back();
        constexpr std::size_t most_numbers = 16;
        while (numbers.size() < most_numbers) {
            const auto end = std::min(rest.find(';'), rest.size());
            std::size_t number = 0;
            const auto [last, error] = std::from_chars(rest.data(), rest.data() + end, number);
            numbers.push_back(error == std::errc() ? std::optional(number) : std::nullopt);
            if (end == rest.size()) return;
            rest.remove_prefix(end + 1);
        }
    }

    std::size_t number(std::size_t place, std::size_t otherwise) const
    {
        return place < numbers.size() ? numbers[place].value_or(otherwise) : otherwise;
    }
    std::size_t count() const { return std::max<std::size_t>(1, number(0, 1)); }  ///< 0 means 1
};

}  // namespace cmcp
