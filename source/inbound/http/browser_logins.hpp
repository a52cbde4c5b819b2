#pragma once

#include "async/event.hpp"
#include "http/http_request.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

namespace cmcp {

struct http_settings;

/// Browsers that have sent a token once and hold a cookie in its place, which no script can read. The token stays here
/// and is judged with each request, so its end ends the login, as does the end of the server. Bounded; io thread only.
class browser_logins {
public:
    using clock = event::clock;
    static constexpr auto idle_limit = std::chrono::hours(12);
    static constexpr std::size_t most = 10'000;  ///< then the one that was used least recently ends

    struct entry {
        std::string token;
        std::string csrf;  ///< that requests which change something bring in X-CSRF-Token
        clock::time_point used;
    };

    /// `config` must outlive this. `now`: the time.
    explicit browser_logins(const http_settings& config, std::function<clock::time_point()> now = clock::now)
        : config_(config), now_(std::move(now))
    {
    }

    /// The value of Set-Cookie for a login with the token. An earlier login of the browser ends.
    std::string begin(const http_request& request, std::string token);

    /// Null: the request brings no cookie of a login.
    const entry* find(const http_request& request);

    /// The value of Set-Cookie that takes the cookie away.
    std::string end(const http_request& request);

private:
    std::string cookie_name(const http_request& request) const;
    std::string cookie_of(const http_request& request, const std::string& value, std::chrono::seconds life) const;
    std::string key_in(const http_request& request) const;
    void forget_idle(clock::time_point now);

    const http_settings& config_;
    std::function<clock::time_point()> now_;
    std::unordered_map<std::string, entry> entries_;  // by the digest of the cookie
};

}  // namespace cmcp
