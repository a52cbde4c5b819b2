#pragma once

#include <string>
#include <string_view>

namespace cmcp {

/// Throws sandbox_error (InvalidArgument) unless the name has 1 to 64 letters, digits, '.', '_', '-' or spaces within,
/// begins with a letter or digit and has not the form of a handle.
void check_name(std::string_view field, std::string_view name);

std::string percent_encoded(std::string_view text);  ///< RFC 3986 unreserved characters and '/' stand for themselves

}  // namespace cmcp
