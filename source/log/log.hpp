#pragma once

#include "jsonrpc/json.hpp"

#include <initializer_list>
#include <string_view>
#include <utility>

/// Structured log: events with fields, to stderr (never stdout: the stdio transport owns it) or to a file.
/// Fields never hold arguments of tools, session ids or secrets. Control characters are escaped: no forged lines.
namespace cmcp::log {

enum class level { debug, info, warning, error };

using fields = std::initializer_list<std::pair<std::string_view, json::value>>;

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
