#include "egress/address_rules.hpp"

#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/address_v6.hpp>

#include <cstdint>
#include <optional>

namespace cmcp {
namespace {

namespace ip = boost::asio::ip;

struct v4_range {
    std::uint32_t network;
    unsigned prefix;
    std::string_view name;
};

constexpr std::uint32_t v4(unsigned a, unsigned b, unsigned c, unsigned d) { return a << 24 | b << 16 | c << 8 | d; }

constexpr std::string_view metadata = "cloud metadata";

// IANA IPv4 Special-Purpose Address Registry, and the addresses at which clouds serve credentials; the first hit
// counts.
constexpr v4_range v4_ranges[] = {
    {v4(169, 254, 169, 254), 32, metadata},  // AWS, GCP, Azure, OpenStack
    {v4(169, 254, 170, 2), 32, metadata},    // AWS ECS
    {v4(169, 254, 170, 23), 32, metadata},   // AWS EKS
    {v4(100, 100, 100, 200), 32, metadata},  // Alibaba
    {v4(192, 0, 0, 192), 32, metadata},      // Oracle
    {v4(168, 63, 129, 16), 32, metadata},    // Azure's agent, a public address
    {v4(0, 0, 0, 0), 8, "this network (0.0.0.0/8)"},
    {v4(10, 0, 0, 0), 8, "private (10.0.0.0/8)"},
    {v4(100, 64, 0, 0), 10, "shared (100.64.0.0/10)"},
    {v4(127, 0, 0, 0), 8, "loopback"},
    {v4(169, 254, 0, 0), 16, "link-local"},
    {v4(172, 16, 0, 0), 12, "private (172.16.0.0/12)"},
    {v4(192, 0, 0, 0), 24, "protocol assignments (192.0.0.0/24)"},
    {v4(192, 0, 2, 0), 24, "documentation"},
    {v4(192, 31, 196, 0), 24, "AS112 (192.31.196.0/24)"},
    {v4(192, 52, 193, 0), 24, "AMT (192.52.193.0/24)"},
    {v4(192, 88, 99, 0), 24, "6to4 relay (192.88.99.0/24)"},
    {v4(192, 168, 0, 0), 16, "private (192.168.0.0/16)"},
    {v4(192, 175, 48, 0), 24, "AS112 (192.175.48.0/24)"},
    {v4(198, 18, 0, 0), 15, "benchmarking"},
    {v4(198, 51, 100, 0), 24, "documentation"},
    {v4(203, 0, 113, 0), 24, "documentation"},
    {v4(224, 0, 0, 0), 4, "multicast"},
    {v4(240, 0, 0, 0), 4, "reserved (240.0.0.0/4)"},
};

struct v6_range {
    std::uint16_t head[4];  // the first 64 bits
    unsigned prefix;
    std::string_view name;
};

// IANA IPv6 Special-Purpose Address Registry within 2000::/3, and the ranges outside it.
constexpr v6_range v6_ranges[] = {
    {{0x2001, 0x0db8, 0, 0}, 32, "documentation"},
    {{0x2001, 0, 0, 0}, 23, "protocol assignments (2001::/23)"},  // holds Teredo, benchmarking, ORCHID
    {{0x2620, 0x4f, 0x8000, 0}, 48, "AS112 (2620:4f:8000::/48)"},
    {{0x3fff, 0, 0, 0}, 20, "documentation"},
    {{0x0064, 0xff9b, 0x0001, 0}, 48, "local NAT64 (64:ff9b:1::/48)"},
    {{0x0100, 0, 0, 0}, 64, "discard (100::/64)"},
    {{0xfc00, 0, 0, 0}, 7, "unique local (fc00::/7)"},
    {{0xfe80, 0, 0, 0}, 10, "link-local"},
    {{0xfec0, 0, 0, 0}, 10, "site-local"},
    {{0xff00, 0, 0, 0}, 8, "multicast"},
};

using bytes = ip::address_v6::bytes_type;

std::uint16_t word(const bytes& from, std::size_t index)
{
    return static_cast<std::uint16_t>(from[2 * index] << 8 | from[2 * index + 1]);
}

bool starts_with(const bytes& address, const v6_range& range)
{
    unsigned left = range.prefix;
    for (std::size_t i = 0; i < 4 && left > 0; ++i) {
        const unsigned take = left < 16 ? left : 16;
        const auto mask = static_cast<std::uint16_t>(0xffffu << (16 - take));
        if ((word(address, i) & mask) != range.head[i]) return false;
        left -= take;
    }
    return true;
}

std::uint32_t v4_at(const bytes& from, std::size_t at)
{
    return v4(from[at], from[at + 1], from[at + 2], from[at + 3]);
}

bool zero(const bytes& from, std::size_t first, std::size_t last)
{
    for (std::size_t i = first; i < last; ++i)
        if (from[i] != 0) return false;
    return true;
}

// The IPv4 address to which packets for this IPv6 address may come in the end.
std::optional<std::uint32_t> embedded(const bytes& a)
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

std::string_view special_v4(std::uint32_t address)
{
    for (const auto& range : v4_ranges) {
        const auto mask = static_cast<std::uint32_t>(0xffffffffull << (32 - range.prefix));
        if ((address & mask) == range.network) return range.name;
    }
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
        if (const auto range = special_v4(*inner); !range.empty()) return range;
        // A translator leads to the public address; the ranges below judge the other forms.
        if (word(a, 0) == 0x64 || zero(a, 0, 10)) return {};
    }
    for (const auto& range : v6_ranges)
        if (starts_with(a, range)) return range.name;
    return (a[0] & 0xe0) == 0x20 ? std::string_view() : "not global (outside 2000::/3)";
}

}  // namespace

std::string_view special_range(const ip::address& address)
{
    return address.is_v4() ? special_v4(address.to_v4().to_uint()) : special_v6(address.to_v6());
}

bool is_metadata_address(const ip::address& address) { return special_range(address) == metadata; }

}  // namespace cmcp
