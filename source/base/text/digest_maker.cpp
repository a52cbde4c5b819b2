#include "text/digest_maker.hpp"

#include <array>
#include <cstring>
#include <stdexcept>

#include <openssl/evp.h>

namespace cmcp {

namespace {

// The two digits of each byte.
constexpr auto pairs_of_digits = [] {
    constexpr std::string_view digits = "0123456789abcdef";
    std::array<char, 512> pairs{};
    for (std::size_t byte = 0; byte < pairs.size() / 2; ++byte) {
        pairs[2 * byte] = digits[byte >> 4];
        pairs[2 * byte + 1] = digits[byte & 15];
    }
    return pairs;
}();

}  // namespace

void digest_maker::free_state::operator()(evp_md_ctx_st* state) const { ::EVP_MD_CTX_free(state); }
void digest_maker::free_state::operator()(evp_md_st* kind) const { ::EVP_MD_free(kind); }

digest_maker::digest_maker() : sha256_(::EVP_MD_fetch(nullptr, "SHA256", nullptr)), state_(::EVP_MD_CTX_new())
{
    if (!sha256_ || !state_ || ::EVP_DigestInit_ex2(state_.get(), sha256_.get(), nullptr) != 1)
        throw std::runtime_error("SHA-256 is not available");
}

// A state that is begun again without a kind keeps that which it has.
digest_maker::bytes digest_maker::bytes_of(std::initializer_list<std::string_view> texts)
{
    bytes digest{};
    bool right = ::EVP_DigestInit_ex2(state_.get(), nullptr, nullptr) == 1;
    for (const auto text : texts) right = right && ::EVP_DigestUpdate(state_.get(), text.data(), text.size()) == 1;
    if (!right || ::EVP_DigestFinal_ex(state_.get(), digest.data(), nullptr) != 1)
        throw std::runtime_error("SHA-256 is not available");
    return digest;
}

std::string_view digest_maker::of(std::initializer_list<std::string_view> texts)
{
    const auto digest = bytes_of(texts);
    for (std::size_t at = 0; at < digest.size(); ++at)
        std::memcpy(text_.data() + 2 * at, pairs_of_digits.data() + 2 * std::size_t{digest[at]}, 2);
    return {text_.data(), text_.size()};
}

}  // namespace cmcp
