#pragma once

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>

namespace cmcp {

/// The ranges whose addresses stand for names in a sandbox's network. They are local there, so that nothing sent to
/// them leaves by itself. source/jail has its own copy, because it makes the routes and includes nothing of this.
boost::asio::ip::network_v4 named_range_v4();  ///< 198.18.0.0/15
boost::asio::ip::network_v6 named_range_v6();  ///< fd63:6d63:7000::/64

/// The addresses that stand for names in one sandbox's network. A name keeps its addresses while it is remembered; of
/// too many names, the one that was not used for the longest time is forgotten. Addresses are given out in turn through
/// the whole range, because a program may remember those of a forgotten name.
class name_addresses {
public:
    /// `v4` has more addresses than twice `most` names need.
    explicit name_addresses(boost::asio::ip::network_v4 v4 = named_range_v4(), std::size_t most = 4096);

    /// `name`: as of read_host.
    boost::asio::ip::address address_of(const std::string& name, bool v6);

    /// Nothing when the address stands for no name. An IPv4-mapped address is taken as that IPv4 address.
    std::optional<std::string> name_of(const boost::asio::ip::address& address);

    std::size_t size() const { return latest_.size(); }

private:
    struct entry {
        std::string name;
        std::uint32_t index = 0;
    };
    using entry_iterator = std::list<entry>::iterator;

    entry_iterator remember(const std::string& name);
    std::uint32_t next_free();
    std::optional<std::uint32_t> index_of(const boost::asio::ip::address& address) const;

    boost::asio::ip::network_v4 v4_;
    std::size_t most_;
    std::uint32_t last_ = 0;
    std::list<entry> latest_;  ///< the latest used one first
    std::map<std::string, entry_iterator> by_name_;
    std::map<std::uint32_t, entry_iterator> by_index_;
};

}  // namespace cmcp
