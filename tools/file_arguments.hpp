#pragma once

#include "files/file_error.hpp"
#include "jsonrpc/json.hpp"
#include "mcp/tool.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Reads arguments that have been validated against the tool's schema.
namespace cmcp::file_arguments {

std::string text(const json::object& from, std::string_view name, std::string_view otherwise = {});
bool flag(const json::object& from, std::string_view name);
std::optional<std::uint64_t> count(const json::object& from, std::string_view name);

/// {success: false, error, error_type}: NotFound where there is nothing at the path, else ToolFailed.
tool_result failure(const file_error& problem);

/// The result of a call that worked; `made` gets success: true.
tool_result success(json::object made);

}  // namespace cmcp::file_arguments
