#pragma once

#include "identity/document_fetch.hpp"
#include "identity/token_rules.hpp"

#include <string>

namespace cmcp {

/// The endpoint that tells what an opaque token means (RFC 7662). This server is a client there.
struct introspection {
    std::string url;  ///< empty: there is none
    std::string client;
    std::string secret;

    /// Throws std::runtime_error with a sentence when the endpoint does not answer.
    awaitable<token_decision> ask(const document_fetch& fetch, std::string token, const token_rules& rules) const;
};

}  // namespace cmcp
