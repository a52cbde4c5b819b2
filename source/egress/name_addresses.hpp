#pragma once

#include <boost/asio/ip/address.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>

namespace cmcp {

/// The addresses that stand for names in one network without a way out. The name of a connection is known by the
/// address that it was made to. The ranges are those of jail/doors.hpp, where they are local.
class name_addresses {
public:
    struct range {
        boost::asio::ip::address_v4 v4 = boost::asio::ip::address_v4({198, 18, 0, 0});
        std::uint32_t size = 1u << 17;  ///< addresses of it; the first and the last one stand for nothing
        boost::asio::ip::address_v6 v6 =
            boost::asio::ip::address_v6({0xfd, 0x63, 0x6d, 0x63, 0x70, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    };
    static constexpr std::size_t most_names = 4096;  ///< the longest unused one makes room

    /// `with_v6`: connections to the addresses of IPv6 arrive, too.
    explicit name_addresses(bool with_v6) : name_addresses(with_v6, range()) {}
    name_addresses(bool with_v6, range of) : range_(of), with_v6_(with_v6) {}

    bool has_v6() const { return with_v6_; }
    boost::asio::ip::address_v4 v4_of(const std::string& name);
    boost::asio::ip::address_v6 v6_of(const std::string& name);
    std::optional<std::string> name_of(const boost::asio::ip::address& address);  ///< of IPv4 in IPv6, too

private:
    struct entry {
        std::uint32_t number;
        std::list<std::string>::iterator use;
    };
    std::uint32_t number_of(const std::string& name);
    std::optional<std::uint32_t> number_in(const boost::asio::ip::address& address) const;
    void forget_oldest();

    range range_;
    bool with_v6_;
    std::uint32_t last_ = 0;  // given; the next ones follow, so that none comes back soon
    std::list<std::string> by_use_;
    std::map<std::string, entry> names_;
    std::map<std::uint32_t, std::string> numbers_;
};

}  // namespace cmcp
