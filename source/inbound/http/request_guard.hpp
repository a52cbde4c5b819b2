#pragma once

#include "http/browser_logins.hpp"
#include "http/header_rules.hpp"
#include "http/http_reply.hpp"
#include "http/http_request.hpp"
#include "identity/gatekeeper.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// The one place that says whether a request may begin, and whose it is: by its header, the entry of the route table
/// that it is for, and its credentials or its signed link.
class request_guard {
public:
    /// A way in that says whose a request is.
    struct way_in {
        std::function<login_ptr(const http_request&)> login{};  ///< null: nobody's that may come in
        std::string name{};                                     ///< in the count of refused logins
        std::string refusal{};                                  ///< a sentence
    };

    /// All must outlive this. `browsers` null: no cookie is a credential.
    request_guard(const http_settings& config, gatekeeper& logins, browser_logins* browsers = nullptr)
        : names_(config), logins_(logins), browsers_(browsers)
    {
    }
    request_guard(const http_settings& config, gatekeeper& logins, way_in by_way)
        : names_(config), logins_(logins), by_way_(std::move(by_way))
    {
    }

    /// The answer that ends the request, or nothing when it may begin; fills `who` and `principal` then. The router has
    /// placed the request. Where somebody else has to be asked about its credentials, `login_pending` is set: then
    /// admit_when_known() decides.
    std::optional<http_reply> admit(http_request& request) const;
    awaitable<std::optional<http_reply>> admit_when_known(http_request& request) const;

    /// For what lasts longer than a request: false where its credentials have ended since it was admitted.
    awaitable<bool> still_admits(http_request& request) const;

    /// The decision about a token that comes in another way than by the header.
    awaitable<admission> judge(const http_request& request, std::string token) const;

    /// Whether the Authorization of the request holds, or may hold, credentials of this server, wherever it goes.
    bool brings_own(const http_request& request) const;

    const served_names& names() const { return names_; }

private:
    std::optional<http_reply> refuse_caller(http_request& request) const;
    awaitable<> ask_about_caller(http_request& request) const;
    bool holds_own(std::string_view field) const;
    std::optional<http_reply> let_in(http_request& request, login_ptr who) const;
    std::optional<http_reply> admit_by_way(http_request& request) const;
    http_reply refuse(const http_request& request, const admission& refused) const;
    std::optional<http_reply> admit_by_link(http_request& request) const;

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

    served_names names_;
    gatekeeper& logins_;
    browser_logins* browsers_ = nullptr;
    way_in by_way_;  // no function: credentials decide
};

/// For the log, about a request that was answered with 401: the answer's sentence, or that there was no token.
std::string_view problem_of_login(const http_request& request, std::string_view sentence);

}  // namespace cmcp
