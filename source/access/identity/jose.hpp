#pragma once

#include "jsonrpc/json.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct _cjose_jwk_int;
struct evp_pkey_st;

namespace cmcp::jose {

/// A signed JWT (RFC 7519) as it came: nothing is verified yet.
struct jwt {
    std::string compact;
    json::object header;
    json::object claims;

    std::string_view algorithm() const;  ///< empty: none is named
    std::string_view key_id() const;     ///< empty: none is named
};

/// Nothing when the text is no compact JWS of JSON objects, is longer than 16 KiB, or has critical extensions.
std::optional<jwt> read_jwt(std::string_view compact);

/// The algorithms of RFC 7518, RFC 8037 and RFC 9864 that are taken. Never `none`, never a shared secret.
inline constexpr std::string_view algorithms =
    "ES256 ES384 ES512 RS256 RS384 RS512 PS256 PS384 PS512 EdDSA Ed25519 Ed448";
bool is_known_algorithm(std::string_view name);

/// The public part of a JSON Web Key (RFC 7517) that signatures are verified with.
class public_key {
public:
    /// Nothing for keys of other types, with a private part, for encryption, and RSA keys below 2048 bits.
    static std::optional<public_key> read(const json::object& jwk);

    const std::string& id() const { return id_; }

    /// By the key's type, curve and `alg`.
    bool fits(std::string_view algorithm) const;
    bool verifies(const jwt& token) const;

    /// RFC 7638 with SHA-256, base64url.
    std::string thumbprint() const;

private:
    bool verifies_with_edwards(const jwt& token) const;

    std::shared_ptr<_cjose_jwk_int> key_;   // of RSA and EC
    std::shared_ptr<evp_pkey_st> edwards_;  // of Ed25519 and Ed448, which that library does not know
    json::object members_;                  // that are required, in the order of their names
    std::string id_;
    std::string algorithm_;  // empty: any that fits
};

}  // namespace cmcp::jose
