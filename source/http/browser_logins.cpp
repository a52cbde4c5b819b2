#include "http/browser_logins.hpp"

#include "text/ascii.hpp"
#include "text/encodings.hpp"
#include "text/random_id.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t secret_bytes = 32;

// With TLS no other page of the domain can set a cookie of this name (RFC 6265bis section 4.1.3.2).
std::string cookie_name(const http_request& request) { return request.secure ? "__Host-cmcp-login" : "cmcp-login"; }

std::string cookie_of(const http_request& request, const std::string& value, std::chrono::seconds life)
{
    return cookie_name(request) + "=" + value +
           "; Path=/; HttpOnly; SameSite=Strict; Max-Age=" + std::to_string(life.count()) +
           (request.secure ? "; Secure" : "");
}

std::string_view value_in(std::string_view cookies, std::string_view name)
{
    while (!cookies.empty()) {
        const auto end = std::min(cookies.find(';'), cookies.size());
        const auto one = trimmed(cookies.substr(0, end));
        cookies.remove_prefix(std::min(end + 1, cookies.size()));
        if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=')
            return one.substr(name.size() + 1);
    }
    return {};
}

std::string key_in(const http_request& request)
{
    const auto value = value_in(request.header("cookie").value_or(""), cookie_name(request));
    return value.size() == 2 * secret_bytes ? sha256_hex(value) : std::string();
}

}  // namespace

void browser_logins::forget_idle(clock::time_point now)
{
    std::erase_if(entries_, [now](const auto& each) { return now - each.second.used >= idle_limit; });
    if (entries_.size() < most) return;
    const auto used = [](const auto& each) { return each.second.used; };
    entries_.erase(std::ranges::min_element(entries_, {}, used));
}

std::string browser_logins::begin(const http_request& request, std::string token)
{
    const auto now = clock::now();
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
    const auto now = clock::now();
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
