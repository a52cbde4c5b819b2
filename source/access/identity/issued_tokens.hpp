#pragma once

#include "async/task_group.hpp"
#include "identity/digest_memo.hpp"
#include "identity/document_fetch.hpp"
#include "identity/issuer.hpp"
#include "identity/proofs.hpp"
#include "identity/shared_logins.hpp"
#include "identity/token_rules.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cmcp {

struct settings;

/// Decisions about tokens, by the digest of the token. The ones that were used last stay. Io thread only.
class login_cache {
public:
    explicit login_cache(std::size_t most = 10'000) : most_(most) {}

    /// Null: it is not known, or its time is over.
    const token_decision* find(const std::string& digest, login::clock::time_point now);

    void put(std::string digest, token_decision decision, login::clock::time_point until);

private:
    struct entry {
        std::string digest;
        token_decision decision;
        login::clock::time_point until;
    };
    std::size_t most_;
    std::list<entry> entries_;  // the last used one first
    std::unordered_map<std::string_view, std::list<entry>::iterator> by_digest_;
};

/// Credentials as a request brings them.
struct credentials {
    std::string_view scheme;  ///< of Authorization, in lower case; empty: the request brings none
    std::string_view token;
    std::string_view peer;           ///< address
    std::string_view certificate;    ///< thumbprint of the client's certificate; empty: it has none
    digest_memo* digests = nullptr;  ///< of the connection; null: it has none
    proven_request proof{};          ///< of DPoP; without its token
};

/// The decision about a request by its credentials.
struct admission {
    login_ptr who;              ///< null: it is refused
    std::string problem{};      ///< a sentence; empty with `who`
    std::string_view error{};   ///< of RFC 6750 section 3.1 and RFC 9449 section 7.1; empty: there were no credentials
    bool later = false;         ///< ask() finds out
    bool unavailable = false;   ///< the authorization server does not answer
    std::string_view reason{};  ///< of a refusal, a word of a fixed set: for figures
    std::string to_claim{};     ///< with `later`: proof_decision::to_claim

    static constexpr std::string_view invalid_token = "invalid_token";
    static admission refused(std::string_view reason, std::string problem, std::string_view error = invalid_token)
    {
        return {nullptr, std::move(problem), error, false, false, reason};
    }
    static admission not_known_yet(std::string problem)
    {
        return {nullptr, std::move(problem), {}, false, true, "no_answer"};
    }
};

/// The tokens of the authorization servers of AUTH_ISSUERS, and those that the endpoint of AUTH_INTROSPECTION_URL
/// knows. A look at a token that was seen before asks nobody. Io thread only.
class issued_tokens {
public:
    using principal_of_subject = std::function<std::string(std::string_view issuer, std::string_view subject)>;

    /// `fetch` reaches the authorization servers; `linked` says which principal a subject is linked with, empty: none.
    issued_tokens(asio::any_io_executor executor, const settings& config, document_fetch fetch,
                  principal_of_subject linked);

    /// An address of this server for which tokens must be made.
    void serve_at(std::string address);

    bool are_known() const;  ///< whether there is anybody who makes them

    admission judge(const credentials& of);

    /// After judge() said `later`: from its end on judge() knows. `of` must last as long.
    awaitable<> ask(credentials of);

    /// As gatekeeper::still_counts().
    awaitable<bool> still_counts(login_ptr who);

    /// Whether the token is, or may be, one of them.
    bool may_have(std::string_view token);

    void share(shared_logins with);  ///< as gatekeeper::share()

private:
    using time_point = login::clock::time_point;

    admission admit(const token_decision& decision, const credentials& of, time_point now);
    proof_decision judge_binding(const login& who, const credentials& of, time_point now);
    admission judge_signed(const jose::jwt& token, const std::string& digest, time_point now);
    issuer* issuer_of(std::string_view name);
    awaitable<> introspect(std::string token);
    awaitable<> ask_for_token(std::string token);
    awaitable<> ask_for_proof(credentials of);

    const settings& config_;
    document_fetch fetch_;
    token_rules rules_;
    std::size_t introspections_ = 0;
    std::deque<issuer> issuers_;
    login_cache cache_;
    proofs proofs_;
    shared_logins shared_;  // empty functions: this server is alone
    task_group tasks_;
};

}  // namespace cmcp
