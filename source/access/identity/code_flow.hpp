#pragma once

#include "async/event.hpp"
#include "identity/document_fetch.hpp"
#include "text/random_id.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace cmcp {

struct identity_settings;

/// Lets a person log in at an authorization server and come back with a code (RFC 6749 section 4.1, with PKCE,
/// RFC 7636, and the resource of RFC 8707). What was begun is in the state alone, which this process signs: nobody
/// who only begins takes room from others. Io thread only.
class code_flow {
public:
    /// This server, as the person's browser knows it.
    struct own_urls {
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

    /// `now`: the time.
    code_flow(const identity_settings& config, document_fetch fetch,
              std::function<event::clock::time_point()> now = event::clock::now)
        : config_(config), fetch_(std::move(fetch)), now_(std::move(now)), key_(random_id(key_bytes))
    {
    }

    /// Whether this server has a name at authorization servers.
    bool possible() const;

    /// Throws std::runtime_error.
    awaitable<way> begin(std::string issuer, own_urls here);

    /// The access token. `here` is as it was at the beginning. Throws std::runtime_error.
    awaitable<std::string> finish(answer back, own_urls here);

private:
    static constexpr std::size_t key_bytes = 32;

    struct endpoints {
        std::string authorization, token;
        event::clock::time_point read;
    };

    awaitable<endpoints> endpoints_of(std::string issuer);
    std::string state_for(std::string_view begun, std::string_view issuer, const own_urls& here) const;
    std::string verifier_for(std::string_view state) const;
    const std::string* issuer_of(std::string_view state, const own_urls& here) const;
    std::string request_for(const answer& back, const own_urls& here) const;

    const identity_settings& config_;
    document_fetch fetch_;
    std::function<event::clock::time_point()> now_;
    std::string key_;
    std::map<std::string, endpoints> known_;  // by issuer
};

}  // namespace cmcp
