#pragma once

#include "identity/scope.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace cmcp {

/// A key as its owner holds it: "cmk_<id>_<secret>". The secret is shown once and stored nowhere.
struct api_key {
    std::string id;      ///< 12 hexadecimal digits
    std::string secret;  ///< 43 characters of base64url: 32 random bytes

    static api_key make();
    static std::optional<api_key> read(std::string_view text);
    std::string text() const { return "cmk_" + id + "_" + secret; }
};

/// The store's row of a key. Times are seconds since 1970.
struct key_record {
    std::string id;
    std::string digest;     ///< SHA-256 of the secret, hexadecimal
    std::string principal;  ///< to whom belongs what is made with the key
    std::string note;       ///< for people
    std::string scopes;     ///< "mcp:read mcp:run"
    std::string profile;    ///< of tools; empty: that of the server
    std::string networks;   ///< addresses and blocks between blanks; empty: any
    double created = 0;
    double expires = 0;  ///< 0: never
    double revoked = 0;  ///< 0: not
    double used = 0;     ///< last, to the minute; 0: never

    auto columns()
    {
        return std::tie(id, digest, principal, note, scopes, profile, networks, created, expires, revoked, used);
    }
};

}  // namespace cmcp
