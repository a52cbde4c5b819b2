#pragma once

#include <string>
#include <string_view>

namespace cmcp {

/// 64 lower-case hex digits. Throws std::runtime_error when the library has no SHA-256.
std::string sha256_hex(std::string_view text);

}  // namespace cmcp
