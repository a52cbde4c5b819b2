#pragma once

#include "egress/host.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// The protocol that a client speaks, by its first bytes.
struct client_opening {
    enum class kind {
        more,   ///< not known yet
        tls,    ///< a whole ClientHello (RFC 8446 section 4.1.2)
        http,   ///< a request of HTTP/1
        other,  ///< another protocol, HTTP/2 without TLS among them
        bad,    ///< begins as TLS and is none that a server should read, or never tells what it is
    };

    static constexpr std::size_t longest = 64 * 1024;  ///< of a ClientHello; twice as many bytes tell the kind

    kind is = kind::more;
    std::string server_name;  ///< tls: as the client wrote it; empty: it names none

    static client_opening parse(std::string_view bytes);
    static bool is_tls(std::string_view bytes);  ///< they begin as TLS, of which tls_hellos finds each ClientHello
};

/// Why a ClientHello that names `server_name` is not passed on to `who`; empty when it is. An address has no server
/// name.
std::string server_name_problem(const std::string& server_name, const host& who, std::uint16_t port);

}  // namespace cmcp
