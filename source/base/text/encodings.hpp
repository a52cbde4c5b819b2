#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// Two lower-case digits a byte.
std::string hex_text(std::string_view bytes);

/// Nothing for what hex_text() does not make, as upper-case digits: bytes have one text.
std::optional<std::string> hex_bytes(std::string_view text);

/// The text with "%C3" for each byte that `stays` refuses.
std::string percent_encoded(std::string_view text, bool (*stays)(unsigned char));

/// 32 bytes. Throws std::runtime_error when the library has no SHA-256.
std::string sha256(std::string_view text);

/// The same as 64 lower-case digits.
std::string sha256_hex(std::string_view text);

/// Whether the text is one that sha256_hex() may give.
bool is_sha256_hex(std::string_view text);

/// RFC 4648 section 4, with padding.
std::string base64_encode(std::string_view bytes);

/// Nothing when the text is not canonical base64 with padding.
std::optional<std::string> base64_decode(std::string_view text);

/// Bytes, or what is wrong with the text: the end of a sentence that begins with its name.
struct decoded_content {
    std::string bytes;
    std::string problem;  ///< empty: none
};

/// The contents of files as libraries write them: white space, missing padding, both alphabets of RFC 4648 and the head
/// of a data URL are taken. Not for what this server has made itself, of which there is one form.
decoded_content decode_content(std::string_view text);

/// RFC 4648 section 5, without padding.
std::string base64url_encode(std::string_view bytes);

/// Nothing when the text is not canonical base64url without padding.
std::optional<std::string> base64url_decode(std::string_view text);

}  // namespace cmcp
