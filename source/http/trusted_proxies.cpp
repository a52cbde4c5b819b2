#include "http/trusted_proxies.hpp"

#include "http/forwarded_hops.hpp"

#include <algorithm>

namespace cmcp {

namespace {

constexpr std::string_view unix_peers = "unix";

// The last proxy that is not believed, or the client itself, is who asks: what stands before it may be invented.
const forwarded_hop& asking(const forwarded_hops& hops, const trusted_proxies& proxies)
{
    const auto invents = [&](const forwarded_hop& each) {
        return each.client.empty() || !proxies.contains(each.client);
    };
    const auto hop = std::find_if(hops.rbegin(), hops.rend(), invents);
    return hop == hops.rend() ? hops.front() : *hop;
}

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

void trusted_proxies::believe(http_request& request) const
{
    if (empty() || !contains(request.address)) return;
    const auto hops = forwarded_hops_of(request);
    if (!hops && unbelieved_.may_write())
        log::warning("forwarding_refused",
                     {{"peer", request.address},
                      {"advice",
                       "the proxy must send either Forwarded or X-Forwarded-*, well-formed, and take away "
                       "what clients send of the other kind"}});
    if (!hops || hops->empty()) return;
    const forwarded_hop& hop = asking(*hops, *this);
    if (!hop.client.empty()) request.address = hop.client;
    if (!hop.scheme.empty()) request.secure = hop.scheme == "https";
    request.forwarded_host = hop.host;
}

}  // namespace cmcp
