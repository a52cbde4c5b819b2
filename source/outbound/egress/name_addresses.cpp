#include "egress/name_addresses.hpp"

#include "egress/host.hpp"

namespace cmcp {
namespace {

namespace ip = boost::asio::ip;

constexpr std::size_t low_half = 8;  // where the number of an address begins in an IPv6 address

ip::address v6_at(std::uint32_t index)
{
    auto bytes = named_range_v6().network().to_bytes();
    for (std::size_t i = 0; i < 4; ++i) bytes[12 + i] = static_cast<unsigned char>(index >> (24 - 8 * i));
    return ip::address_v6(bytes);
}

// Nothing for an address outside the range.
std::optional<std::uint32_t> index_of_v6(const ip::address_v6& address)
{
    const auto bytes = address.to_bytes(), base = named_range_v6().network().to_bytes();
    std::uint32_t index = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i < low_half + 4 && bytes[i] != base[i]) return std::nullopt;
        index = index << 8 | bytes[i];
    }
    return index;
}

}  // namespace

ip::network_v4 named_range_v4() { return {ip::address_v4(0xc6120000), 15}; }

ip::network_v6 named_range_v6()
{
    return {ip::address_v6({0xfd, 0x63, 0x6d, 0x63, 0x70, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), 64};
}

name_addresses::name_addresses(ip::network_v4 v4, std::size_t most) : v4_(v4.canonical()), most_(most) {}

ip::address name_addresses::address_of(const std::string& name, bool v6)
{
    const auto index = remember(name)->index;
    return v6 ? v6_at(index) : ip::address_v4(v4_.network().to_uint() + index);
}

std::optional<std::string> name_addresses::name_of(const ip::address& address)
{
    const auto index = index_of(unmapped(address));
    const auto at = index ? by_index_.find(*index) : by_index_.end();
    if (at == by_index_.end()) return std::nullopt;
    latest_.splice(latest_.begin(), latest_, at->second);
    return at->second->name;
}

name_addresses::entry_iterator name_addresses::remember(const std::string& name)
{
    if (const auto at = by_name_.find(name); at != by_name_.end()) {
        latest_.splice(latest_.begin(), latest_, at->second);
        return at->second;
    }
    if (latest_.size() >= most_) {
        by_name_.erase(latest_.back().name);
        by_index_.erase(latest_.back().index);
        latest_.pop_back();
    }
    latest_.push_front({name, next_free()});
    by_name_[name] = latest_.begin();
    by_index_[latest_.front().index] = latest_.begin();
    return latest_.begin();
}

// The first and the last address of the range are left out: programs take them for a network's and a broadcast's.
std::uint32_t name_addresses::next_free()
{
    const std::uint32_t last_of_range = (1u << (32 - v4_.prefix_length())) - 2;
    do last_ = last_ >= last_of_range ? 1 : last_ + 1;
    while (by_index_.count(last_) != 0);
    return last_;
}

std::optional<std::uint32_t> name_addresses::index_of(const ip::address& address) const
{
    if (address.is_v6()) return index_of_v6(address.to_v6());
    const std::uint32_t base = v4_.network().to_uint(), of = address.to_v4().to_uint();
    return of >= base ? std::optional(of - base) : std::nullopt;
}

}  // namespace cmcp
