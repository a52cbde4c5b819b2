#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// A parameter of a header's value behind its first ';': name=value or name="value" (RFC 9110 section 5.6.6).
std::optional<std::string> header_parameter(std::string_view value, std::string_view name);

}  // namespace cmcp
