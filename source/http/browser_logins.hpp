#pragma once

#include "async/event.hpp"
#include "http/http_request.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

namespace cmcp {

/// Browsers that have sent a token once and hold a cookie in its place, which no script can read. The token stays here
/// and is judged with each request, so its end ends the login. Bounded; io thread only.
class browser_logins {
public:
    using clock = event::clock;
    static constexpr auto idle_limit = std::chrono::hours(12);
    static constexpr std::size_t most = 10'000;

    struct entry {
        std::string token;
        std::string csrf;  ///< that requests which change something bring in X-CSRF-Token
        clock::time_point used;
    };

    /// The value of Set-Cookie for a login with the token.
    std::string begin(const http_request& request, std::string token);

    /// Null: the request brings no cookie of a login.
    const entry* find(const http_request& request);

    /// The value of Set-Cookie that takes the cookie away.
    std::string end(const http_request& request);

private:
    void forget_idle(clock::time_point now);

    std::unordered_map<std::string, entry> entries_;  // by the digest of the cookie
};

}  // namespace cmcp
