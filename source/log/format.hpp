#pragma once

#include "log/log.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace cmcp::log {

std::string_view to_string(level l);

/// `text` as valid UTF-8 in which nothing moves a terminal's cursor or forges a line: control characters (C0, DEL, C1),
/// line separators and bidirectional overrides become \uXXXX, invalid bytes U+FFFD.
std::string escape_controls(std::string_view text);

/// `2026-11-21T14:00:00.123Z INFO event key=value other="a value"`, without a newline.
std::string format_text(std::chrono::system_clock::time_point when, level l, std::string_view event,
                        const fields& with);

/// {"time":…,"level":…,"event":…,"key":value,…}, without a newline.
std::string format_json(std::chrono::system_clock::time_point when, level l, std::string_view event,
                        const fields& with);

}  // namespace cmcp::log
