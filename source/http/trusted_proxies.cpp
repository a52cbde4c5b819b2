#include "http/trusted_proxies.hpp"

#include "http/forwarded_hops.hpp"

#include <boost/asio/ip/address.hpp>

#include <algorithm>

namespace cmcp {

namespace ip = boost::asio::ip;

namespace {

constexpr std::string_view unix_peers = "unix";

// A listener on :: sees clients of IPv4 as ::ffff:a.b.c.d.
ip::address plain_form(const ip::address& address)
{
    if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
    return ip::make_address_v4(ip::v4_mapped, address.to_v6());
}

template <class Network>
std::optional<Network> network_in(const std::string& word, int bits,
                                  Network (*make)(const std::string&, boost::system::error_code&))
{
    boost::system::error_code error;
    const auto whole = word.find('/') == std::string::npos ? word + "/" + std::to_string(bits) : word;
    const Network network = make(whole, error);
    return error ? std::nullopt : std::optional(network.canonical());
}

std::optional<ip::network_v4> v4_network(const std::string& word)
{
    return network_in<ip::network_v4>(word, 32, &ip::make_network_v4);
}

std::optional<ip::network_v6> v6_network(const std::string& word)
{
    return network_in<ip::network_v6>(word, 128, &ip::make_network_v6);
}

template <class Network, class Address>
bool any_holds(const std::vector<Network>& networks, const Address& address)
{
    return std::any_of(networks.begin(), networks.end(),
                       [&](const Network& each) { return each == Network(address, each.prefix_length()).canonical(); });
}

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
        if (word == unix_peers) unix_ = true;
        if (const auto network = v4_network(word)) v4_.push_back(*network);
        if (const auto network = v6_network(word)) v6_.push_back(*network);
    }
}

bool trusted_proxies::contains(const std::string& address) const
{
    if (address == unix_peers) return unix_;
    boost::system::error_code error;
    const auto plain = plain_form(ip::make_address(address, error));
    if (error) return false;
    return plain.is_v4() ? any_holds(v4_, plain.to_v4()) : any_holds(v6_, plain.to_v6());
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
