#include "egress/name_addresses.hpp"

#include "egress/host.hpp"

#include <algorithm>
#include <cstring>

namespace cmcp {

namespace ip = boost::asio::ip;

namespace {

constexpr std::size_t prefix_bytes = 8;  // of the range of IPv6

}  // namespace

std::uint32_t name_addresses::number_of(const std::string& name)
{
    if (const auto known = names_.find(name); known != names_.end()) {
        by_use_.splice(by_use_.end(), by_use_, known->second.use);
        return known->second.number;
    }
    if (names_.size() >= std::min<std::size_t>(most_names, range_.size - 2)) forget_oldest();
    do last_ = last_ % (range_.size - 2) + 1;
    while (numbers_.contains(last_));
    by_use_.push_back(name);
    names_[name] = {last_, std::prev(by_use_.end())};
    numbers_[last_] = name;
    return last_;
}

void name_addresses::forget_oldest()
{
    const auto oldest = names_.find(by_use_.front());
    numbers_.erase(oldest->second.number);
    names_.erase(oldest);
    by_use_.pop_front();
}

ip::address_v4 name_addresses::v4_of(const std::string& name)
{
    return ip::address_v4(range_.v4.to_uint() + number_of(name));
}

ip::address_v6 name_addresses::v6_of(const std::string& name)
{
    auto bytes = range_.v6.to_bytes();
    const std::uint32_t number = number_of(name);
    for (int i = 0; i < 4; ++i) bytes[15 - i] = static_cast<unsigned char>(number >> (8 * i));
    return ip::address_v6(bytes);
}

std::optional<std::uint32_t> name_addresses::number_in(const ip::address& address) const
{
    if (address.is_v4()) return address.to_v4().to_uint() - range_.v4.to_uint();
    const auto bytes = address.to_v6().to_bytes(), first = range_.v6.to_bytes();
    if (!std::equal(bytes.begin(), bytes.begin() + prefix_bytes, first.begin())) return std::nullopt;
    std::uint64_t number = 0;
    for (std::size_t i = prefix_bytes; i < bytes.size(); ++i) number = number << 8 | bytes[i];
    return number < range_.size ? std::optional(static_cast<std::uint32_t>(number)) : std::nullopt;
}

std::optional<std::string> name_addresses::name_of(const ip::address& address)
{
    const auto number = number_in(unmapped(address));
    const auto known = number ? numbers_.find(*number) : numbers_.end();
    if (known == numbers_.end()) return std::nullopt;
    number_of(known->second);  // it is used
    return known->second;
}

}  // namespace cmcp
