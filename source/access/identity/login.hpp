#pragma once

#include "identity/calling_code.hpp"
#include "identity/scope.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace cmcp {

/// The rights that credentials give. Shared by the requests that bring them.
struct login {
    using clock = std::chrono::system_clock;
    enum class source {
        other,   ///< no credentials, a certificate, a signed link, or the administrators' socket
        token,   ///< MCP_AUTH_TOKENS
        key,     ///< an API key
        issuer,  ///< a token of an authorization server, which a client may ask for more scopes
    };

    std::string principal;   ///< owns what the requests make; empty: the default caller
    std::string credential;  ///< for people: "token ann", "key 3f…", "issuer https://…"; no secret
    scope_set scopes = scope_set::ordinary();
    std::string profile{};                              ///< of tools (tool_profiles); empty: that of the server
    clock::time_point ends = clock::time_point::max();  ///< of the credentials
    source from = source::other;
    std::string handle{};  ///< id of the key; the token, where its authorization server has to be asked about it again
    std::string proof_key{};    ///< JWK thumbprint of the key that DPoP proofs are signed with (RFC 9449 section 6)
    std::string certificate{};  ///< thumbprint of the client certificate that must come along (RFC 8705 section 3)
    calling_code_ptr code{};    ///< of a ticket that code in a sandbox brings; null: others ask
};

using login_ptr = std::shared_ptr<const login>;

}  // namespace cmcp
