#pragma once

#include "identity/jose.hpp"
#include "identity/login.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// The conditions under which an issuer's token is good here.
struct token_rules {
    std::vector<std::string> issuers;
    /// At least one must be among the token's. "client_id:NAME" stands for tokens of this client without any.
    std::vector<std::string> audiences;
    std::vector<std::string> types;  ///< of the header, as token_type() writes them
    std::string subject_claim = "sub";
    std::vector<std::string> admins;  ///< principals that have all scopes
    scope_set default_scopes;         ///< of tokens that carry none of this server
    std::chrono::seconds skew{60};
    std::function<std::string(std::string_view issuer, std::string_view subject)>
        linked;  ///< the principal that an administrator has linked; empty: none
};

/// A login, or the reason why there is none.
struct token_decision {
    login_ptr who;
    std::string problem;       ///< a sentence; empty with `who`
    bool unavailable = false;  ///< nobody could tell
};

/// Judges a token whose signature is verified (RFC 9068 section 4).
token_decision judge_token(const jose::jwt& token, const token_rules& rules, login::clock::time_point now);

/// The same claims as an introspection answers them (RFC 7662 section 2.2).
token_decision judge_claims(const json::object& claims, const token_rules& rules, login::clock::time_point now);

/// The form in which types are compared: lower case, without "application/" (RFC 7515 section 4.1.9).
std::string token_type(std::string_view text);

/// A sentence about an issuer that is not among the trusted ones.
std::string other_issuer(std::string_view issuer, const std::vector<std::string>& trusted);

/// The principal of an issuer's subject that nobody has linked: "oauth-" and 24 hexadecimal digits.
std::string principal_of(std::string_view issuer, std::string_view subject);

}  // namespace cmcp
