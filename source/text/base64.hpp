#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// RFC 4648 section 4, with padding.
std::string base64_encode(std::string_view bytes);

/// Nothing when the text is not canonical base64 with padding.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace cmcp
