#pragma once

#include "jsonrpc/json.hpp"

#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>

/// Structured log: events with fields, to stderr (never stdout: the stdio transport owns it) or to a file.
/// Fields never hold arguments of tools, session ids or secrets. Control characters are escaped: no forged lines.
namespace cmcp::log {

enum class level { debug, info, warning, error };

/// Name and value; text of any kind (literal, std::string, string_view) is taken as it is.
struct field : std::pair<std::string_view, json::value> {
    template <class T>
    field(std::string_view name, const T& value) : pair(name, convert(value)) {}

private:
    template <class T>
    static json::value convert(const T& value)
    {
        if constexpr (std::is_convertible_v<const T&, std::string_view>) {
            std::string_view text = value;
            return json::string(text.data(), text.size());
        } else {
            return json::value(value);
        }
    }
};

using fields = std::initializer_list<field>;

struct options {
    level threshold = level::info;
    bool json_lines = false;            ///< JSON lines instead of `time level event key=value …`
    std::string_view file;              ///< empty: stderr
};

/// Once at start; before it, events go to stderr as text at level info.
void configure(const options& chosen);

bool enabled(level l);
void write(level l, std::string_view event, fields with);

inline void debug(std::string_view event, fields with = {}) { if (enabled(level::debug)) write(level::debug, event, with); }
inline void info(std::string_view event, fields with = {}) { write(level::info, event, with); }
inline void warning(std::string_view event, fields with = {}) { write(level::warning, event, with); }
inline void error(std::string_view event, fields with = {}) { write(level::error, event, with); }

}  // namespace cmcp::log
