#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cmcp {

/// A DNS query with its one question (RFC 1035 section 4).
struct dns_query {
    enum class state {
        read,
        dropped,        ///< no query: it has no answer
        malformed,      ///< no question, several or a broken one
        not_supported,  ///< another operation than a query
    };

    state is = state::dropped;
    std::uint16_t id = 0;
    std::uint16_t flags = 0;
    std::string name;  ///< lower case, without a closing dot; empty: the root, or none that a host could have
    std::uint16_t type = 0;
    std::uint16_t network_class = 0;
    std::string_view bytes;  ///< the question as it stands in the message, which must outlive this

    static dns_query read(std::string_view message);
};

}  // namespace cmcp
