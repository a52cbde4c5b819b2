#include "http/trusted_proxies.hpp"

#include "http/forwarded_client.hpp"

namespace cmcp {

namespace {

constexpr std::string_view unix_peers = "unix";

}  // namespace

trusted_proxies::trusted_proxies(const std::vector<std::string>& words)
{
    for (const auto& word : words) {
        if (word == unix_peers)
            unix_ = true;
        else
            networks_.add(word);
    }
}

bool trusted_proxies::contains(const std::string& address) const
{
    return address == unix_peers ? unix_ : networks_.hold(address);
}

// Never the proxy's own address for one that cannot be read: keys that are bound to networks would be open to
// strangers.
void trusted_proxies::believe(http_request& request) const
{
    if (empty() || !contains(request.address)) return;
    const auto client = forwarded_client_of(request, [this](const std::string& address) { return contains(address); });
    if (!client) return;
    if (client->is_broken && unbelieved_.may_write())
        log::warning("forwarding_refused",
                     {{"peer", request.address},
                      {"client", client->address},
                      {"advice",
                       "the proxy must send either Forwarded or X-Forwarded-*, well-formed, and remove "
                       "what clients send of the other kind"}});
    request.address = client->address;
    if (!client->scheme.empty()) request.secure = client->scheme == "https";
    request.forwarded_host = client->host;
}

}  // namespace cmcp
