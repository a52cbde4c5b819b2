#pragma once

#include <chrono>
#include <string>

namespace cmcp {

/// ISO 8601 in UTC with milliseconds: "2026-07-28T10:30:00.123Z".
std::string timestamp(std::chrono::system_clock::time_point when);

}  // namespace cmcp
