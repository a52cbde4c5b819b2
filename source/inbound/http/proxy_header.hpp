#pragma once

#include <boost/asio/ip/address.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

namespace cmcp {

/// The header of the PROXY protocol, versions 1 and 2, with which a proxy tells whose connection it passes on.
struct proxy_header {
    enum class state {
        more,     ///< so far the bytes may be the beginning of a header
        none,     ///< the connection begins without one
        refused,  ///< a header that breaks the rules
        read
    };

    state is = state::more;
    std::size_t size = 0;                              ///< of a header that was read, bytes
    std::optional<boost::asio::ip::address> client{};  ///< nothing: it names no address of a client

    /// `bytes`: the beginning of the connection.
    static proxy_header look(std::string_view bytes);

    static constexpr std::size_t longest = 4096;
};

}  // namespace cmcp
