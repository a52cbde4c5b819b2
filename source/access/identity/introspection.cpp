#include "identity/introspection.hpp"

#include "identity/form_encoding.hpp"
#include "identity/issuer_metadata.hpp"
#include "jsonrpc/read_object.hpp"

namespace cmcp {

awaitable<token_decision> introspection::ask(const document_fetch& fetch, std::string token,
                                             const token_rules& rules) const
{
    document_request wanted{url};
    wanted.form = "token=" + form_encoded(token) + "&token_type_hint=access_token";
    if (!client.empty()) wanted.headers.emplace_back("Authorization", basic_authorization(client, secret));
    const std::string text = co_await fetch(std::move(wanted));
    json::object claims = read_issuer_document(text);
    token_decision decision{nullptr, "The token is not known to its issuer, or has ended."};
    if (!flag_of(claims, "active")) co_return decision;
    // Most endpoints tell the tokens of one issuer alone and leave its name out.
    if (!claims.contains("iss") && rules.issuers.size() == 1) claims["iss"] = rules.issuers.front();
    // A program with a token of its own is its own subject (RFC 9068 section 2.2).
    if (!claims.contains("sub") && claims.contains("client_id")) claims["sub"] = text_of(claims, "client_id");
    decision = judge_claims(claims, rules, login::clock::now());
    if (decision.who) {
        auto own = std::make_shared<login>(*decision.who);
        own->handle = std::move(token);
        decision.who = std::move(own);
    }
    co_return decision;
}

}  // namespace cmcp
