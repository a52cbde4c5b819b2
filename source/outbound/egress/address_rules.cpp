#include "egress/address_rules.hpp"

#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/address_v6.hpp>

#include <cstdint>
#include <optional>

namespace cmcp {
namespace {

namespace ip = boost::asio::ip;

constexpr std::string_view metadata = "cloud metadata";

struct special_block {
    const char* network;
    unsigned prefix;
    std::string_view name;
};

// IANA's special-purpose address registries, and the addresses at which clouds serve credentials; the first hit counts.
constexpr special_block blocks[] = {
    {"169.254.169.254", 32, metadata},  // AWS, GCP, Azure, OpenStack
    {"169.254.170.2", 32, metadata},    // AWS ECS
    {"169.254.170.23", 32, metadata},   // AWS EKS
    {"100.100.100.200", 32, metadata},  // Alibaba
    {"192.0.0.192", 32, metadata},      // Oracle
    {"168.63.129.16", 32, metadata},    // Azure's agent, a public address
    {"0.0.0.0", 8, "this network (0.0.0.0/8)"},
    {"10.0.0.0", 8, "private (10.0.0.0/8)"},
    {"100.64.0.0", 10, "shared (100.64.0.0/10)"},
    {"127.0.0.0", 8, "loopback"},
    {"169.254.0.0", 16, "link-local"},
    {"172.16.0.0", 12, "private (172.16.0.0/12)"},
    {"192.0.0.0", 24, "protocol assignments (192.0.0.0/24)"},
    {"192.0.2.0", 24, "documentation"},
    {"192.31.196.0", 24, "AS112 (192.31.196.0/24)"},
    {"192.52.193.0", 24, "AMT (192.52.193.0/24)"},
    {"192.88.99.0", 24, "6to4 relay (192.88.99.0/24)"},
    {"192.168.0.0", 16, "private (192.168.0.0/16)"},
    {"192.175.48.0", 24, "AS112 (192.175.48.0/24)"},
    {"198.18.0.0", 15, "benchmarking"},
    {"198.51.100.0", 24, "documentation"},
    {"203.0.113.0", 24, "documentation"},
    {"224.0.0.0", 4, "multicast"},
    {"240.0.0.0", 4, "reserved (240.0.0.0/4)"},
    // Within 2000::/3, and the ranges outside it.
    {"2001:db8::", 32, "documentation"},
    {"2001::", 23, "protocol assignments (2001::/23)"},  // holds Teredo, benchmarking, ORCHID
    {"2620:4f:8000::", 48, "AS112 (2620:4f:8000::/48)"},
    {"3fff::", 20, "documentation"},
    {"64:ff9b:1::", 48, "local NAT64 (64:ff9b:1::/48)"},
    {"100::", 64, "discard (100::/64)"},
    {"fc00::", 7, "unique local (fc00::/7)"},
    {"fe80::", 10, "link-local"},
    {"fec0::", 10, "site-local"},
    {"ff00::", 8, "multicast"},
};

using bytes = ip::address_v6::bytes_type;

std::uint16_t word(const bytes& from, std::size_t index)
{
    return static_cast<std::uint16_t>(from[2 * index] << 8 | from[2 * index + 1]);
}

ip::address_v4 v4_at(const bytes& from, std::size_t at)
{
    return ip::address_v4({from[at], from[at + 1], from[at + 2], from[at + 3]});
}

bool zero(const bytes& from, std::size_t first, std::size_t last)
{
    for (std::size_t i = first; i < last; ++i)
        if (from[i] != 0) return false;
    return true;
}

// The IPv4 address to which packets for this IPv6 address may come in the end.
std::optional<ip::address_v4> embedded(const bytes& a)
{
    const bool first_ten_zero = zero(a, 0, 10);
    if (first_ten_zero && word(a, 5) == 0xffff) return v4_at(a, 12);                        // mapped
    if (first_ten_zero && word(a, 5) == 0 && !zero(a, 12, 14)) return v4_at(a, 12);         // compatible
    if (zero(a, 0, 8) && word(a, 4) == 0xffff && word(a, 5) == 0) return v4_at(a, 12);      // translated (SIIT)
    if (word(a, 0) == 0x64 && word(a, 1) == 0xff9b && zero(a, 4, 12)) return v4_at(a, 12);  // NAT64
    if (word(a, 0) == 0x2002) return v4_at(a, 2);                                           // 6to4
    const bool isatap = (word(a, 4) & 0xfdff) == 0 && word(a, 5) == 0x5efe;
    if (isatap) return v4_at(a, 12);
    return std::nullopt;
}

template <class Bytes>
bool same_prefix(const Bytes& a, const Bytes& b, unsigned prefix)
{
    for (std::size_t i = 0; i < a.size() && prefix > 0; ++i) {
        const unsigned take = prefix < 8 ? prefix : 8;
        const auto mask = static_cast<unsigned char>(0xffu << (8 - take));
        if ((a[i] & mask) != (b[i] & mask)) return false;
        prefix -= take;
    }
    return true;
}

std::string_view block_of(const ip::address& address)
{
    for (const auto& row : blocks)
        if (same_block(address, ip::make_address(row.network), row.prefix)) return row.name;
    return {};
}

std::string_view special_v6(const ip::address_v6& address)
{
    static const auto aws = ip::make_address_v6("fd00:ec2::254");
    static const auto gcp = ip::make_address_v6("fd20:ce::254");
    const bytes a = address.to_bytes();
    if (address == aws || address == gcp) return metadata;
    if (address.is_loopback()) return "loopback";
    if (address.is_unspecified()) return "unspecified";
    if (const auto inner = embedded(a)) {
        if (const auto range = block_of(*inner); !range.empty()) return range;
        // A translator leads to the public address; the ranges below judge the other forms.
        if (word(a, 0) == 0x64 || zero(a, 0, 10)) return {};
    }
    if (const auto block = block_of(address); !block.empty()) return block;
    return (a[0] & 0xe0) == 0x20 ? std::string_view() : "not global (outside 2000::/3)";
}

}  // namespace

bool same_block(const ip::address& a, const ip::address& b, unsigned prefix)
{
    if (a.is_v4() != b.is_v4()) return false;
    return a.is_v4() ? same_prefix(a.to_v4().to_bytes(), b.to_v4().to_bytes(), prefix)
                     : same_prefix(a.to_v6().to_bytes(), b.to_v6().to_bytes(), prefix);
}

std::string_view special_range(const ip::address& address)
{
    return address.is_v4() ? block_of(address) : special_v6(address.to_v6());
}

bool is_metadata_address(const ip::address& address) { return special_range(address) == metadata; }

}  // namespace cmcp
