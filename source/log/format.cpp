#include "log/format.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>

namespace cmcp::log {

namespace {

// A line stays readable and a log bounded, whatever an error message holds.
constexpr std::size_t longest_value = 4096;

struct decoded {
    std::uint32_t code_point;
    std::size_t length;     // 0: invalid
};

decoded decode(std::string_view text)
{
    const auto first = static_cast<unsigned char>(text[0]);
    if (first < 0x80) return {first, 1};
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < length) return {0, 0};
    std::uint32_t value = first & (0xffu >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        const auto next = static_cast<unsigned char>(text[i]);
        if ((next & 0xc0) != 0x80) return {0, 0};
        value = value << 6 | (next & 0x3fu);
    }
    constexpr std::uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = value >= 0xd800 && value <= 0xdfff;
    if (value < smallest[length] || value > 0x10ffff || surrogate) return {0, 0};
    return {value, length};
}

bool dangerous(std::uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

void append_escape(std::string& out, std::uint32_t c)
{
    char buffer[8];
    std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned>(c & 0xffff));
    out += buffer;
}

std::string timestamp(std::chrono::system_clock::time_point when)
{
    using namespace std::chrono;
    const auto since = duration_cast<milliseconds>(when.time_since_epoch()).count();
    const std::time_t seconds = since / 1000;
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    char day[24];
    std::strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, "%s.%03dZ", day, static_cast<int>(since % 1000));
    return buffer;
}

bool plain(std::string_view word)
{
    return !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
        return c > 0x20 && c < 0x7f && c != '"' && c != '=' && c != '\\';
    });
}

std::string shortened(std::string_view text)
{
    if (text.size() <= longest_value) return std::string(text);
    return std::string(text.substr(0, longest_value)) + "…";
}

// serialize() escapes C0 only, and passes invalid UTF-8 on.
std::string serialized(const json::value& value)
{
    if (const auto* text = value.if_string()) return escape_controls(json::serialize(json::string(shortened(*text))));
    return shortened(escape_controls(json::serialize(value)));
}

std::string text_value(const json::value& value)
{
    if (const auto* text = value.if_string(); text && text->size() <= longest_value && plain(*text)) return std::string(*text);
    return serialized(value);
}

// A nested value that was cut is no JSON any more: it goes out as a string.
std::string json_value(const json::value& value)
{
    const std::string whole = escape_controls(json::serialize(value));
    if (value.is_string() || whole.size() > longest_value) {
        return serialized(value.is_string() ? value : json::value(json::string(shortened(whole))));
    }
    return whole;
}

}  // namespace

std::string_view to_string(level l)
{
    switch (l) {
    case level::debug: return "DEBUG";
    case level::info: return "INFO";
    case level::warning: return "WARNING";
    case level::error: return "ERROR";
    }
    return "INFO";
}

std::string escape_controls(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const auto [c, length] = decode(text);
        if (length == 0) out += "\xef\xbf\xbd";
        else if (dangerous(c)) append_escape(out, c);
        else out += text.substr(0, length);
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out;
}

std::string format_text(std::chrono::system_clock::time_point when, level l, std::string_view event, const fields& with)
{
    std::string line = timestamp(when);
    line.append(" ").append(to_string(l)).append(" ").append(escape_controls(event));
    for (const auto& [key, value] : with) line.append(" ").append(escape_controls(key)).append("=").append(text_value(value));
    return line;
}

std::string format_json(std::chrono::system_clock::time_point when, level l, std::string_view event, const fields& with)
{
    std::string line = "{\"time\":\"" + timestamp(when) + "\",\"level\":\"" + std::string(to_string(l)) + "\",\"event\":";
    line += serialized(json::string(event));
    for (const auto& [key, value] : with) {
        line.append(",").append(serialized(json::string(key))).append(":").append(json_value(value));
    }
    return line + "}";
}

}  // namespace cmcp::log
