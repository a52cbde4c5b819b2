#include "http/browser_logins.hpp"

#include "http/cookies.hpp"
#include "http/endpoint_address.hpp"
#include "text/encodings.hpp"
#include "text/random_id.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t secret_bytes = 32;
constexpr std::size_t name_digits = 8;

}  // namespace

// A browser sends a cookie to every port and path of a host, so each server there has a name of its own. With TLS no
// other host of the domain can set a cookie of this name (RFC 6265bis section 4.1.3.2).
std::string browser_logins::cookie_name(const http_request& request) const
{
    const std::string name = "cmcp-login-" + sha256_hex(address_used(request, config_)).substr(0, name_digits);
    return is_secure(request, config_) ? "__Host-" + name : name;
}

std::string browser_logins::cookie_of(const http_request& request, const std::string& value,
                                      std::chrono::seconds life) const
{
    return cookie_name(request) + "=" + value +
           "; Path=/; HttpOnly; SameSite=Strict; Max-Age=" + std::to_string(life.count()) +
           (is_secure(request, config_) ? "; Secure" : "");
}

std::string browser_logins::key_in(const http_request& request) const
{
    const auto value = cookie_in(request, cookie_name(request));
    return value.size() == 2 * secret_bytes ? sha256_hex(value) : std::string();
}

void browser_logins::forget_idle(clock::time_point now)
{
    std::erase_if(entries_, [now](const auto& each) { return now - each.second.used >= idle_limit; });
    if (entries_.size() < most) return;
    const auto used = [](const auto& each) { return each.second.used; };
    entries_.erase(std::ranges::min_element(entries_, {}, used));
}

std::string browser_logins::begin(const http_request& request, std::string token)
{
    const auto now = now_();
    end(request);
    forget_idle(now);
    const auto secret = random_id(secret_bytes);
    entries_[sha256_hex(secret)] = {std::move(token), random_id(secret_bytes), now};
    return cookie_of(request, secret, idle_limit);
}

const browser_logins::entry* browser_logins::find(const http_request& request)
{
    if (entries_.empty()) return nullptr;
    const auto at = entries_.find(key_in(request));
    if (at == entries_.end()) return nullptr;
    const auto now = now_();
    if (now - at->second.used >= idle_limit) {
        entries_.erase(at);
        return nullptr;
    }
    at->second.used = now;
    return &at->second;
}

std::string browser_logins::end(const http_request& request)
{
    entries_.erase(key_in(request));
    return cookie_of(request, "", std::chrono::seconds(0));
}

}  // namespace cmcp
