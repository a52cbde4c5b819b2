#pragma once

#include "jsonrpc/json.hpp"

#include <string_view>

namespace cmcp {

/// The `ClientCapabilities` object that a question to the client needs ({"elicitation": {}}).
/// Throws std::logic_error for a method that is no question.
json::object capability_needed(std::string_view method, const json::object& params);

bool has_capability(const json::object& declared, const json::object& needed);

}  // namespace cmcp
