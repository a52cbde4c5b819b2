#pragma once

#include <string>
#include <string_view>

namespace cmcp {

/// HMAC with SHA-256 (RFC 2104): 32 bytes. Throws std::runtime_error when the library has none.
std::string keyed_digest(std::string_view key, std::string_view text);

/// The same as 64 lower-case digits.
std::string signature_of(std::string_view key, std::string_view text);

/// Whether two texts are the same. The time tells how long they are, and not how many characters are right.
bool same_secret(std::string_view sent, std::string_view secret);

}  // namespace cmcp
