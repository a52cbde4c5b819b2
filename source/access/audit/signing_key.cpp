#include "audit/signing_key.hpp"

#include "text/encodings.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <openssl/crypto.h>
#include <openssl/evp.h>

namespace cmcp::audit {

namespace {

constexpr std::size_t key_bytes = 32, signature_bytes = 64;

struct free_state {
    void operator()(EVP_MD_CTX* state) const { ::EVP_MD_CTX_free(state); }
    void operator()(EVP_PKEY* key) const { ::EVP_PKEY_free(key); }
};

using state_handle = std::unique_ptr<EVP_MD_CTX, free_state>;

template <std::size_t size>
bool read_hex(std::string_view text, std::array<unsigned char, size>& into)
{
    auto bytes = hex_bytes(text);
    if (!bytes || bytes->size() != size) return false;
    std::ranges::copy(*bytes, into.begin());
    ::OPENSSL_cleanse(bytes->data(), bytes->size());
    return true;
}

template <std::size_t size>
std::string hex_of(const std::array<unsigned char, size>& bytes)
{
    return hex_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

[[noreturn]] void cannot() { throw std::runtime_error("the cryptographic library makes no Ed25519 signatures"); }

EVP_PKEY* key_of_seed(std::string_view seed)
{
    std::array<unsigned char, key_bytes> bytes{};
    if (!read_hex(seed, bytes)) throw std::runtime_error("a signing key has 64 hexadecimal digits");
    EVP_PKEY* key = ::EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, bytes.data(), bytes.size());
    ::OPENSSL_cleanse(bytes.data(), bytes.size());
    return key;
}

}  // namespace

void signing_key::free_key::operator()(evp_pkey_st* key) const { ::EVP_PKEY_free(key); }

signing_key::signing_key(evp_pkey_st* key) : key_(key)
{
    std::array<unsigned char, key_bytes> bytes{};
    std::size_t size = bytes.size();
    if (!key_ || ::EVP_PKEY_get_raw_public_key(key_.get(), bytes.data(), &size) != 1) cannot();
    public_ = hex_of(bytes);
}

signing_key::signing_key(std::string_view seed) : signing_key(key_of_seed(seed)) {}

signing_key signing_key::make() { return signing_key(::EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")); }

std::string signing_key::seed() const
{
    std::array<unsigned char, key_bytes> bytes{};
    std::size_t size = bytes.size();
    if (::EVP_PKEY_get_raw_private_key(key_.get(), bytes.data(), &size) != 1) cannot();
    auto text = hex_of(bytes);
    ::OPENSSL_cleanse(bytes.data(), bytes.size());
    return text;
}

std::string signing_key::sign(std::string_view text) const
{
    std::array<unsigned char, signature_bytes> bytes{};
    std::size_t size = bytes.size();
    const state_handle state(::EVP_MD_CTX_new());
    const auto* data = reinterpret_cast<const unsigned char*>(text.data());
    if (!state || ::EVP_DigestSignInit(state.get(), nullptr, nullptr, nullptr, key_.get()) != 1 ||
        ::EVP_DigestSign(state.get(), bytes.data(), &size, data, text.size()) != 1)
        cannot();
    return hex_of(bytes);
}

bool is_signed(std::string_view text, std::string_view signature, std::string_view public_key)
{
    std::array<unsigned char, key_bytes> key_data{};
    std::array<unsigned char, signature_bytes> bytes{};
    if (!read_hex(public_key, key_data) || !read_hex(signature, bytes)) return false;
    const std::unique_ptr<EVP_PKEY, free_state> key(
        ::EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key_data.data(), key_data.size()));
    const state_handle state(::EVP_MD_CTX_new());
    const auto* data = reinterpret_cast<const unsigned char*>(text.data());
    return key && state && ::EVP_DigestVerifyInit(state.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
           ::EVP_DigestVerify(state.get(), bytes.data(), bytes.size(), data, text.size()) == 1;
}

}  // namespace cmcp::audit
