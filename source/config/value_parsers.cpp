#include "config/value_parsers.hpp"

#include "config/setting.hpp"
#include "text/ascii.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace cmcp::values {

namespace {

std::optional<std::uint64_t> whole_number(std::string_view text)
{
    std::uint64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// "1.25" as 1250; nothing when it is no such number.
std::optional<std::uint64_t> thousandths(std::string_view text)
{
    const auto point = text.find('.');
    const auto whole = whole_number(text.substr(0, point));
    if (!whole || *whole > 1'000'000'000) return std::nullopt;
    if (point == std::string_view::npos) return *whole * 1000;
    std::string decimals(text.substr(point + 1));
    if (decimals.empty() || decimals.size() > 3) return std::nullopt;
    decimals.resize(3, '0');
    const auto part = whole_number(decimals);
    if (!part) return std::nullopt;
    return *whole * 1000 + *part;
}

bool name_character(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}
bool visible(unsigned char c) { return c > 0x20 && c < 0x7f; }

std::pair<std::string, std::string> parse_token(std::string_view item)
{
    constexpr const char* allowed =
        "name=token pairs separated by commas: names of a-z, 0-9, _ and -, each once, "
        "tokens of at least 16 visible characters";
    const auto equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0) throw bad_value(allowed);
    const auto name = item.substr(0, equals);
    const auto token = item.substr(equals + 1);
    const bool good = std::all_of(name.begin(), name.end(), name_character) && name.size() <= 64 &&
                      token.size() >= 16 && std::all_of(token.begin(), token.end(), visible);
    if (!good) throw bad_value(allowed);
    return {std::string(name), std::string(token)};
}

}  // namespace

std::string upper(std::string_view text)
{
    std::string out(text);
    for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    return out;
}

bool parse_bool(std::string_view text)
{
    const std::string word = lower_case(trimmed(text, blanks));
    for (const char* yes : {"true", "1", "yes", "on"}) {
        if (word == yes) return true;
    }
    for (const char* no : {"false", "0", "no", "off"}) {
        if (word == no) return false;
    }
    throw bad_value("true or false");
}

std::uint64_t parse_number(std::string_view text, std::uint64_t least, std::uint64_t most)
{
    const auto value = whole_number(trimmed(text, blanks));
    if (value && *value >= least && *value <= most) return *value;
    throw bad_value("a whole number from " + std::to_string(least) + " to " + std::to_string(most));
}

std::chrono::milliseconds parse_seconds(std::string_view text, std::chrono::milliseconds least,
                                        std::chrono::milliseconds most)
{
    if (const auto value = thousandths(trimmed(text, blanks))) {
        const std::chrono::milliseconds time(*value);
        if (time >= least && time <= most) return time;
    }
    throw bad_value("a number of seconds from " + print_seconds(least) + " to " + print_seconds(most));
}

std::vector<std::string> parse_list(std::string_view text, bool keep_empty)
{
    std::vector<std::string> items;
    if (trimmed(text, blanks).empty()) return items;
    for (std::size_t start = 0; start <= text.size();) {
        const auto comma = std::min(text.find(',', start), text.size());
        std::string item(trimmed(text.substr(start, comma - start), blanks));
        if (keep_empty || !item.empty()) items.push_back(std::move(item));
        start = comma + 1;
    }
    return items;
}

std::string parse_choice(std::string_view text, const std::vector<std::string>& allowed)
{
    const std::string word = lower_case(trimmed(text, blanks));
    for (const auto& choice : allowed) {
        if (lower_case(choice) == word) return choice;
    }
    std::string phrase = allowed.size() > 1 ? "one of " : "";
    for (const auto& choice : allowed) phrase += (&choice == &allowed.front() ? "" : ", ") + choice;
    throw bad_value(phrase);
}

std::vector<std::pair<std::string, std::string>> parse_tokens(std::string_view text)
{
    std::vector<std::pair<std::string, std::string>> tokens;
    for (const auto& item : parse_list(text)) {
        auto made = parse_token(item);
        for (const auto& [name, token] : tokens) {
            if (name == made.first || token == made.second) throw bad_value("each name and each token only once");
        }
        tokens.push_back(std::move(made));
    }
    return tokens;
}

std::string print_seconds(std::chrono::milliseconds value)
{
    std::string text = std::to_string(value.count() / 1000);
    if (value.count() % 1000 == 0) return text;
    std::string decimals = std::to_string(1000 + value.count() % 1000).substr(1);
    decimals.erase(decimals.find_last_not_of('0') + 1);
    return text + "." + decimals;
}

std::string print_list(const std::vector<std::string>& items)
{
    std::string text;
    for (const auto& item : items) text += (&item == &items.front() ? "" : ",") + item;
    return text;
}

}  // namespace cmcp::values
