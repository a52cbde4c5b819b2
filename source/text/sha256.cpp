#include "text/sha256.hpp"

#include <openssl/evp.h>

#include <stdexcept>

namespace cmcp {

std::string sha256_hex(std::string_view text)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    if (EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha256(), nullptr) != 1)
        throw std::runtime_error("SHA-256 is not available");
    constexpr char digits[] = "0123456789abcdef";
    std::string hex;
    for (unsigned int i = 0; i < size; ++i) hex += {digits[digest[i] >> 4], digits[digest[i] & 15]};
    return hex;
}

}  // namespace cmcp
