#pragma once

#include "jsonrpc/json.hpp"

#include <array>
#include <chrono>
#include <cmath>
#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

/// Structured log: events with fields, to stderr (never stdout: the stdio transport owns it) or to a file.
/// Fields never hold arguments of tools, session ids or secrets. Control characters are escaped: no forged lines.
namespace cmcp::log {

enum class level { debug, info, warning, error };
inline constexpr std::array<std::string_view, 4> level_names{"DEBUG", "INFO", "WARNING", "ERROR"};

/// The value of a field. Text is a view: it lives as long as the statement that writes the event.
using field_value = std::variant<std::monostate, std::string_view, json::value>;

/// Name and value. Text may be of any kind (literal, std::string, json::string), a duration becomes milliseconds; an
/// empty optional leaves the field out.
struct field : std::pair<std::string_view, field_value> {
    template <class T>
    field(std::string_view name, const T& value) : pair(name, convert(value))
    {
    }

private:
    template <class T>
    static field_value convert(const std::optional<T>& value)
    {
        return value ? convert(*value) : field_value();
    }
    template <class Rep, class Period>
    static field_value convert(const std::chrono::duration<Rep, Period>& value)
    {
        return json::value(std::round(std::chrono::duration<double, std::micro>(value).count()) / 1000);
    }
    static field_value convert(const json::string& value) { return std::string_view(value.data(), value.size()); }
    static field_value convert(const json::value& value)
    {
        if (const auto* text = value.if_string()) return convert(*text);
        return value;
    }
    template <class T>
    requires(!std::same_as<T, json::value> && !std::same_as<T, json::string>) static field_value convert(const T& value)
    {
        if constexpr (std::is_convertible_v<const T&, std::string_view>)
            return std::string_view(value);
        else
            return json::value(value);
    }
};

using fields = std::initializer_list<field>;

/// For a field that is left out where there is no text.
inline std::optional<std::string_view> unless_empty(std::string_view text)
{
    return text.empty() ? std::nullopt : std::optional(text);
}

struct options {
    level threshold = level::info;
    bool json_lines = false;  ///< JSON lines instead of `time level event key=value …`
    std::string_view file;    ///< empty: stderr
};

/// Called once at start; earlier events go to stderr as text at level info.
void configure(const options& how);

/// Opens the file again, which somebody has moved away. stderr stays as it is.
void reopen();

void set_threshold(level l);

bool enabled(level l);
void write(level l, std::string_view event, fields with);

/// `text` as valid UTF-8 in which nothing moves a terminal's cursor or forges a line: control characters (C0, DEL, C1),
/// line separators and bidirectional overrides become \uXXXX, invalid bytes U+FFFD.
std::string escape_controls(std::string_view text);

/// `2026-11-21T14:00:00.123Z INFO event key=value other="a value"`, without a newline.
std::string format_text(std::chrono::system_clock::time_point when, level l, std::string_view event,
                        const fields& with);

/// {"time":…,"level":…,"event":…,"key":value,…}, without a newline.
std::string format_json(std::chrono::system_clock::time_point when, level l, std::string_view event,
                        const fields& with);

inline void debug(std::string_view event, fields with = {})
{
    if (enabled(level::debug)) write(level::debug, event, with);
}
inline void info(std::string_view event, fields with = {}) { write(level::info, event, with); }
inline void warning(std::string_view event, fields with = {}) { write(level::warning, event, with); }
inline void error(std::string_view event, fields with = {}) { write(level::error, event, with); }

}  // namespace cmcp::log
