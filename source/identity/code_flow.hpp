#pragma once

#include "async/event.hpp"
#include "config/settings.hpp"
#include "identity/document_fetch.hpp"

#include <map>
#include <string>

namespace cmcp {

/// Lets a person log in at an authorization server and come back with a code (RFC 6749 section 4.1, with PKCE,
/// RFC 7636, and the resource of RFC 8707). Bounded; io thread only.
class code_flow {
public:
    struct step {
        std::string issuer;
        std::string callback;  ///< where the person comes back to
        std::string resource;  ///< for which the token is to be
    };

    /// Where the person has to go.
    struct way {
        std::string url;
        std::string state;  ///< that comes back with the code
    };

    /// The parameters with which the person comes back.
    struct answer {
        std::string state;
        std::string code;
        std::string issuer;  ///< empty: the authorization server does not name itself (RFC 9207)
    };

    code_flow(const settings& config, document_fetch fetch) : config_(config), fetch_(std::move(fetch)) {}

    /// Whether this server has a name at authorization servers.
    bool possible() const { return !config_.auth_ui_client.empty() && fetch_ != nullptr; }

    /// Throws std::runtime_error.
    awaitable<way> begin(step wanted);

    /// The access token. Throws std::runtime_error.
    awaitable<std::string> finish(answer back);

private:
    using clock = event::clock;
    struct pending {
        step of;
        std::string verifier;
        std::string token_endpoint;
        clock::time_point begun;
    };

    void forget_old(clock::time_point now);

    const settings& config_;
    document_fetch fetch_;
    std::map<std::string, pending> pending_;  // by state
};

}  // namespace cmcp
