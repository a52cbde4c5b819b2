#include "config/networks.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace cmcp {

namespace ip = boost::asio::ip;
using boost::system::error_code;

ip::address plain_address(const ip::address& of)
{
    if (!of.is_v6() || !of.to_v6().is_v4_mapped()) return of;
    return ip::make_address_v4(ip::v4_mapped, of.to_v6());
}

std::string address_text(const ip::address& of) { return plain_address(of).to_string(); }

std::string counted_address(const std::string& address)
{
    constexpr unsigned short prefix_of_client = 64;
    error_code failure;
    const auto one = plain_address(ip::make_address(address, failure));
    if (failure || one.is_v4()) return address;
    const ip::address_v6 without_scope(one.to_v6().to_bytes());
    return ip::make_network_v6(without_scope, prefix_of_client).canonical().to_string();
}

networks networks::parse(std::string_view text)
{
    networks all;
    while (!text.empty()) {
        const auto end = std::min(text.find_first_of(" ,"), text.size());
        if (end != 0) all.add(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return all;
}

void networks::add(std::string_view word)
{
    const bool block = word.find('/') != std::string_view::npos;
    const std::string text(word);
    error_code failure;
    const auto v4 = ip::make_network_v4(block ? text : text + "/32", failure);
    if (!failure) return v4_.push_back(v4);
    const auto v6 = ip::make_network_v6(block ? text : text + "/128", failure);
    if (failure)
        throw std::invalid_argument("\"" + text.substr(0, 64) +
                                    "\" is neither an address nor a block of addresses such as 10.0.0.0/8");
    v6_.push_back(v6);
}

bool networks::hold(std::string_view address) const
{
    error_code failure;
    const auto one = plain_address(ip::make_address(address, failure));
    if (failure) return false;
    const auto holds = [&one](const auto& block) {
        const auto same = block.network();
        if constexpr (std::is_same_v<decltype(same), const ip::address_v4>)
            return ip::make_network_v4(one.to_v4(), block.prefix_length()).network() == same;
        else
            return ip::make_network_v6(one.to_v6(), block.prefix_length()).network() == same;
    };
    return one.is_v4() ? std::any_of(v4_.begin(), v4_.end(), holds) : std::any_of(v6_.begin(), v6_.end(), holds);
}

}  // namespace cmcp
