#pragma once

#include "config/networks.hpp"
#include "identity/api_key.hpp"
#include "identity/issued_tokens.hpp"
#include "identity/shared_logins.hpp"

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

    bool has_issuers() const { return issued_.are_known(); }
    const settings& config() const { return config_; }

private:
    using known_token = std::pair<std::string, login_ptr>;
    struct known_key {
        key_record record;
        std::optional<networks> from;  // nothing: anywhere; empty: they cannot be read, so nowhere
        login_ptr who;
        event::clock::time_point looked;
        bool is_elsewhere = false;  // another server keeps it
    };

    admission judge_key(const api_key& key, const credentials& of);
    const known_key* look_up(const std::string& id);
    identity_store* store();
    bool may_be_elsewhere(const std::string& id) const;
    const known_key& keep(key_record record, bool is_elsewhere);
    awaitable<> ask_for_key(std::string id);

    const settings& config_;
    std::vector<known_token> tokens_;
    login_ptr everybody_;  // where no credentials are needed
    issued_tokens issued_;
    std::unique_ptr<identity_store> store_;
    std::map<std::string, known_key, std::less<>> keys_;
    std::map<std::string, event::clock::time_point, std::less<>> asked_keys_;  // of other servers
    shared_logins shared_;                                                     // empty functions: this server is alone
};

}  // namespace cmcp
