#include "text/signature.hpp"

#include "text/encodings.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <stdexcept>

namespace cmcp {

std::string keyed_digest(std::string_view key, std::string_view text)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    if (::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
               reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &size) == nullptr)
        throw std::runtime_error("HMAC with SHA-256 is not available");
    return {reinterpret_cast<const char*>(digest), size};
}

std::string signature_of(std::string_view key, std::string_view text) { return hex_text(keyed_digest(key, text)); }

bool same_secret(std::string_view sent, std::string_view secret)
{
    return sent.size() == secret.size() && ::CRYPTO_memcmp(sent.data(), secret.data(), secret.size()) == 0;
}

}  // namespace cmcp
