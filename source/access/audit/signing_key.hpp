#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_pkey_st;

namespace cmcp::audit {

/// An Ed25519 key (RFC 8032). All texts are lower-case hexadecimal digits: seeds and public keys 64, signatures 128.
/// Throws std::runtime_error where the library cannot.
class signing_key {
public:
    static signing_key make();
    explicit signing_key(std::string_view seed);

    const std::string& public_key() const { return public_; }
    std::string seed() const;  ///< the secret
    std::string sign(std::string_view text) const;

private:
    struct free_key {
        void operator()(evp_pkey_st* key) const;
    };
    explicit signing_key(evp_pkey_st* key);

    std::unique_ptr<evp_pkey_st, free_key> key_;
    std::string public_;
};

/// False as well for texts that are no key and no signature.
bool is_signed(std::string_view text, std::string_view signature, std::string_view public_key);

}  // namespace cmcp::audit
