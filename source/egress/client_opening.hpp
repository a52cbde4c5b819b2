#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// The first bytes of a client, as far as they tell whom it means to speak to.
struct client_opening {
    enum class kind {
        unfinished,  ///< more bytes will tell
        tls,         ///< a ClientHello (RFC 8446 section 4.1.2)
        http,        ///< a request of HTTP/1
        other
    };

    kind is = kind::unfinished;
    std::optional<std::string> name{};  ///< of a ClientHello that has one: its server name (RFC 6066 section 3)
};

client_opening look_at_opening(std::string_view bytes);

}  // namespace cmcp
