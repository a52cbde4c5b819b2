#pragma once

#include "jsonrpc/json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp::sandbox {

/// Facts of a probe. A fact that is missing or of another kind counts as the bad case: no layer is on because nobody
/// looked.
const json::object& part(const json::object& facts, std::string_view name);
std::optional<std::int64_t> number(const json::object& facts, std::string_view name);
bool is_true(const json::object& facts, std::string_view name);
std::optional<std::string> text(const json::object& facts, std::string_view name);

}  // namespace cmcp::sandbox
