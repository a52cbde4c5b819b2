#pragma once

#include "audit/sink.hpp"

#include <chrono>
#include <string>

namespace cmcp::audit {

/// Bytes of a text in a field; what is longer is cut.
inline constexpr std::size_t longest_text = 400;

/// Appends the fields as further members of a JSON object: `,"name":value` for each that is not left out. Long texts
/// are cut.
void append_fields(std::string& out, log::fields with);

/// "2026-11-24T10:55:28.123456Z"
void append_time(std::string& out, std::chrono::system_clock::time_point when);

}  // namespace cmcp::audit
