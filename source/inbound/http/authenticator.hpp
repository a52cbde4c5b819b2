#pragma once

#include "http/browser_logins.hpp"
#include "http/http_reply.hpp"
#include "http/http_request.hpp"
#include "identity/gatekeeper.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

struct settings;

/// The caller of a request: by the credentials of its header, by a signed link, or anybody where nobody has a name.
class authenticator {
public:
    /// The gatekeeper must outlive this, and `browsers`, where that is not null.
    explicit authenticator(gatekeeper& logins, browser_logins* browsers = nullptr)
        : logins_(logins), browsers_(browsers)
    {
    }

    /// A way in that says whose a request is.
    struct way_in {
        std::function<login_ptr(const http_request&)> login{};  ///< null: nobody's that may come in
        std::string name{};                                     ///< in the count of refused logins
        std::string refusal{};                                  ///< a sentence
    };
    authenticator(gatekeeper& logins, way_in by_way) : logins_(logins), by_way_(std::move(by_way)) {}

    /// 401, 403 or 503, or nothing when the caller may use the route; fills `who` and `principal` then. Sets
    /// `login_pending` where settle() has to find out first.
    std::optional<http_reply> check(http_request& request) const;
    awaitable<> settle(http_request& request) const;

    /// For what lasts longer than a request: false where its credentials have ended since check() took them.
    awaitable<bool> still_admits(http_request& request) const;

    /// The decision about a token that comes in another way than by the header.
    awaitable<admission> judge(const http_request& request, std::string token) const;

    /// Whether the Authorization of the request holds, or may hold, credentials of this server, wherever it goes.
    bool brings_own(const http_request& request) const;

    /// For the log, about a request that check() answered with 401: the answer's sentence, or that there was no token.
    static std::string_view problem(const http_request& request, std::string_view sentence);

private:
    bool holds_own(std::string_view field) const;
    std::optional<http_reply> admit(http_request& request, login_ptr who) const;
    std::optional<http_reply> admit_by_way(http_request& request) const;
    http_reply refuse(const http_request& request, const admission& refused) const;
    std::optional<http_reply> check_signature(http_request& request) const;

    struct authorization {
        std::string scheme;       // in lower case; empty: there is none
        std::string_view sent{};  // the token, in a field of the request
        std::string kept{};       // or elsewhere

        std::string_view token() const { return kept.empty() ? sent : std::string_view(kept); }
    };
    authorization authorization_of(const http_request& request) const;
    const browser_logins::entry* browser_of(const http_request& request) const;
    std::optional<http_reply> refuse_forgery(const http_request& request) const;
    credentials credentials_of(const http_request& request, const authorization& brought) const;

    gatekeeper& logins_;
    browser_logins* browsers_ = nullptr;
    way_in by_way_;  // no function: credentials decide
};

/// A probe of a balancer, which may come without credentials.
bool is_probe(const http_request& request);

/// 403 where the caller's credentials lack scopes. A client with an authorization server can ask for them (step-up).
std::optional<http_reply> refuse_scopes(const http_request& request, const settings& config, scope_set needed);

/// The scopes of the tools that the settings leave on.
scope_set offered_scopes(const settings& config);

/// Behind the server's address, with the path of an endpoint behind it (RFC 9728 section 3).
inline constexpr std::string_view metadata_path = "/.well-known/oauth-protected-resource";

/// The metadata of the endpoint at `path` (RFC 9728), where a client reaches this server.
std::string metadata_address(const http_request& request, const settings& config, std::string_view path);

}  // namespace cmcp
