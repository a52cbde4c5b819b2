#include "text/signature.hpp"

#include "text/encodings.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstdint>
#include <cstring>
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

// Eight bytes at a time, of which each is looked at: the library's function takes as long as a digest.
bool same_secret(std::string_view sent, std::string_view secret)
{
    if (sent.size() != secret.size()) return false;
    std::uint64_t differences = 0, one = 0, other = 0;
    std::size_t at = 0;
    for (; at + sizeof one <= secret.size(); at += sizeof one) {
        std::memcpy(&one, sent.data() + at, sizeof one);
        std::memcpy(&other, secret.data() + at, sizeof other);
        differences |= one ^ other;
    }
    for (; at < secret.size(); ++at) differences |= static_cast<unsigned char>(sent[at] ^ secret[at]);
    const volatile std::uint64_t all = differences;  // so that no compiler ends the loop at the first one
    return all == 0;
}

}  // namespace cmcp
