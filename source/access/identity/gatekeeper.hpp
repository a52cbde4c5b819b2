#pragma once

#include "async/task_group.hpp"
#include "config/networks.hpp"
#include "identity/api_key.hpp"
#include "identity/digest_memo.hpp"
#include "identity/introspection.hpp"
#include "identity/issuer.hpp"
#include "identity/login_cache.hpp"
#include "identity/proofs.hpp"
#include "identity/shared_logins.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

class identity_store;
struct settings;

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

/// Knows the tokens of MCP_AUTH_TOKENS, API keys, and the tokens of the authorization servers of AUTH_ISSUERS. A look
/// at a token that was seen before asks nobody. Io thread only.
class gatekeeper {
public:
    /// `fetch` reaches the authorization servers. Throws config_error.
    gatekeeper(asio::any_io_executor executor, const settings& config, document_fetch fetch);
    gatekeeper(const gatekeeper&) = delete;
    gatekeeper& operator=(const gatekeeper&) = delete;
    ~gatekeeper();

    /// The addresses of this server for which tokens must be made, where the settings name none.
    void serve_at(const std::vector<std::string>& addresses);

    void tokens_changed();  ///< MCP_AUTH_TOKENS of the settings

    admission judge(const credentials& of);

    /// After judge() said `later`: from its end on judge() knows. `of` must last as long.
    awaitable<> ask(credentials of);

    /// From now on keys and proofs are those of all servers of a cluster.
    void share(shared_logins with);

    /// Whether an answer may go on that began with this login: nobody took its credentials back. A token of an
    /// authorization server may have ended by itself less than an hour ago, because clients fetch the next one for
    /// their next request.
    awaitable<bool> still_counts(login_ptr who);

    /// The login of a client whose certificate has this name.
    login_ptr by_certificate(const std::string& name) const;

    /// The login of a principal whose link was signed.
    login_ptr by_link(std::string_view principal) const;

    /// Whether the token is, or may be, a credential for this server.
    bool owns(std::string_view token);

    bool has_issuers() const { return !issuers_.empty() || !introspection_.url.empty(); }
    const settings& config() const { return config_; }

private:
    using time_point = login::clock::time_point;
    using known_token = std::pair<std::string, login_ptr>;
    struct known_key {
        key_record record;
        std::optional<networks> from;  // nothing: anywhere; empty: they cannot be read, so nowhere
        login_ptr who;
        event::clock::time_point looked;
        bool is_elsewhere = false;  // another server keeps it
    };

    admission judge_key(const api_key& key, const credentials& of);
    admission judge_issued(const credentials& of);
    admission admit_issued(const token_decision& decision, const credentials& of, time_point now);
    proof_decision judge_binding(const login& who, const credentials& of, time_point now);
    admission judge_signed(const jose::jwt& token, const std::string& digest, time_point now);
    issuer* issuer_of(std::string_view name);
    const known_key* look_up(const std::string& id);
    identity_store* store();
    awaitable<> introspect(std::string token);
    bool may_be_elsewhere(const std::string& id) const;
    const known_key& keep(key_record record, bool is_elsewhere);
    awaitable<> ask_for_key(std::string id);
    awaitable<> ask_for_token(std::string token);
    awaitable<> ask_for_proof(credentials of);
    awaitable<bool> issued_still_counts(login_ptr who, time_point now);

    const settings& config_;
    document_fetch fetch_;
    std::vector<known_token> tokens_;
    login_ptr everybody_;  // where no credentials are needed
    token_rules rules_;
    introspection introspection_;
    std::size_t introspections_ = 0;
    std::deque<issuer> issuers_;
    login_cache cache_;
    proofs proofs_;
    std::unique_ptr<identity_store> store_;
    std::map<std::string, known_key, std::less<>> keys_;
    std::map<std::string, event::clock::time_point, std::less<>> asked_keys_;  // of other servers
    shared_logins shared_;                                                     // empty functions: this server is alone
    task_group tasks_;
};

}  // namespace cmcp
