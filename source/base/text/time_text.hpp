#pragma once

#include <chrono>
#include <ctime>
#include <string>

namespace cmcp {

/// strftime() in UTC.
std::string utc_text(std::time_t when, const char* format);

/// ISO 8601 in UTC with milliseconds: "2026-07-28T10:30:00.123Z".
std::string timestamp(std::chrono::system_clock::time_point when);

double seconds_since_1970();  ///< now

/// "2.5 s"
std::string seconds_text(std::chrono::milliseconds time);

}  // namespace cmcp
