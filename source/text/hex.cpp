#include "text/hex.hpp"

#include <openssl/evp.h>

#include <stdexcept>

namespace cmcp {

std::string hex_text(std::string_view bytes)
{
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(2 * bytes.size());
    for (const unsigned char byte : bytes) text += {digits[byte >> 4], digits[byte & 15]};
    return text;
}

std::string percent_encoded(std::string_view text, bool (*stays)(unsigned char))
{
    constexpr char digits[] = "0123456789ABCDEF";
    std::string encoded;
    for (const unsigned char byte : text) {
        if (stays(byte))
            encoded += static_cast<char>(byte);
        else
            encoded += {'%', digits[byte >> 4], digits[byte & 15]};
    }
    return encoded;
}

std::string sha256_hex(std::string_view text)
{
    char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    if (EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(digest), &size, EVP_sha256(), nullptr) !=
        1)
        throw std::runtime_error("SHA-256 is not available");
    return hex_text({digest, size});
}

}  // namespace cmcp
