#include "log/log.hpp"

#include "jsonrpc/write_json.hpp"
#include "text/time_text.hpp"
#include "text/utf8_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>

namespace cmcp::log {

namespace {

// A line stays readable and a log bounded, whatever an error message holds.
constexpr std::size_t longest_value = 4096;
constexpr std::size_t usual_line = 480;

bool dangerous(char32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

void append_escape(std::string& out, char32_t c)
{
    char buffer[8];
    std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned>(c & 0xffff));
    out += buffer;
}

// Formatted anew once a second.
void append_time(std::string& out, std::chrono::system_clock::time_point when)
{
    using namespace std::chrono;
    thread_local std::time_t of_text = -1;
    thread_local std::string text;
    const auto since = duration_cast<milliseconds>(when.time_since_epoch()).count();
    const std::time_t seconds = since / 1000;
    if (seconds != of_text) {
        text = utc_text(seconds, "%Y-%m-%dT%H:%M:%S");
        of_text = seconds;
    }
    std::array<char, 16> fraction{};
    std::snprintf(fraction.data(), fraction.size(), ".%03dZ", static_cast<int>(since % 1000));
    out.append(text).append(fraction.data());
}

bool printable(std::string_view text)
{
    return std::all_of(text.begin(), text.end(),
                       [](unsigned char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
}

// A word that needs no quotes in a text line.
bool plain(std::string_view word)
{
    return !word.empty() && word.size() <= longest_value && printable(word) && word.find_first_of(" =") == word.npos;
}

std::string shortened(std::string_view text)
{
    if (text.size() <= longest_value) return std::string(text);
    return std::string(text.substr(0, longest_value)) + "…";
}

// As a JSON string.
void append_quoted(std::string& out, std::string_view text)
{
    if (text.size() <= longest_value && printable(text))
        out.append("\"").append(text).append("\"");
    else
        out += escape_controls(jsonrpc::write_json(std::string_view(shortened(text))));
}

bool is_list_of_words(const json::value& value)
{
    const auto* list = value.if_array();
    return list != nullptr && !list->empty() && std::all_of(list->begin(), list->end(), [](const json::value& item) {
               const auto* word = item.if_string();
               return word != nullptr && plain({word->data(), word->size()}) && word->find(',') == json::string::npos;
           });
}

void append_list(std::string& out, const json::array& words)
{
    for (const auto& item : words) {
        const auto& word = item.get_string();
        out.append(&item == &words.front() ? "" : ",").append(word.data(), word.size());
    }
}

// For people 2000 says as much as 2000.0.
std::string without_point(std::string number, bool is_double)
{
    if (is_double && number.ends_with(".0")) number.resize(number.size() - 2);
    return number;
}

void append_text_value(std::string& out, const field_value& value)
{
    const auto* text = std::get_if<std::string_view>(&value);
    if (text != nullptr && plain(*text))
        out += *text;
    else if (text != nullptr)
        append_quoted(out, *text);
    else if (const auto& other = std::get<json::value>(value); is_list_of_words(other))
        append_list(out, other.get_array());
    else
        out += without_point(shortened(escape_controls(jsonrpc::write_json(other))), other.is_double());
}

// A nested value that was cut is no JSON any more: it goes out as a string.
void append_json_value(std::string& out, const field_value& value)
{
    if (const auto* text = std::get_if<std::string_view>(&value)) return append_quoted(out, *text);
    const std::string whole = escape_controls(jsonrpc::write_json(std::get<json::value>(value)));
    if (whole.size() <= longest_value)
        out += whole;
    else
        append_quoted(out, whole);
}

bool left_out(const field_value& value) { return std::holds_alternative<std::monostate>(value); }

std::string_view name_of(level l) { return level_names.at(static_cast<std::size_t>(l)); }

}  // namespace

std::string escape_controls(std::string_view text)
{
    std::string out;
    if (printable(text)) return out.append(text);
    out.reserve(text.size());
    while (!text.empty()) {
        const auto [fits, needs] = first_character(text);
        const bool is_text = fits == needs;
        const char32_t c = is_text ? decode_character(text) : U'\ufffd';
        const std::size_t length = is_text ? needs : 1;
        if (dangerous(c))
            append_escape(out, c);
        else
            out += is_text ? text.substr(0, length) : "\xef\xbf\xbd";
        text.remove_prefix(length);
    }
    return out;
}

std::string format_text(std::chrono::system_clock::time_point when, level l, std::string_view event, const fields& with)
{
    std::string line;
    line.reserve(usual_line);
    append_time(line, when);
    line.append(" ").append(name_of(l)).append(" ").append(escape_controls(event));
    for (const auto& [key, value] : with) {
        if (left_out(value)) continue;
        line.append(" ").append(escape_controls(key)).append("=");
        append_text_value(line, value);
    }
    return line;
}

std::string format_json(std::chrono::system_clock::time_point when, level l, std::string_view event, const fields& with)
{
    std::string line;
    line.reserve(usual_line);
    line.append("{\"time\":\"");
    append_time(line, when);
    line.append("\",\"level\":\"").append(name_of(l)).append("\",\"event\":");
    append_quoted(line, event);
    for (const auto& [key, value] : with) {
        if (left_out(value)) continue;
        line += ',';
        append_quoted(line, key);
        line += ':';
        append_json_value(line, value);
    }
    return line + "}";
}

}  // namespace cmcp::log
