#pragma once

#include <boost/asio/ip/address.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// The type of a record that is asked for (RFC 1035 section 3.2.2, RFC 3596), and the outcome (RFC 1035 section 4.1.1).
namespace dns {
inline constexpr std::uint16_t a = 1, aaaa = 28;
enum class outcome : std::uint8_t { done = 0, malformed = 1, no_such_name = 3, not_implemented = 4 };
}  // namespace dns

/// A question for a name, as it came.
struct dns_question {
    std::string_view header;   ///< its 12 bytes
    std::string_view section;  ///< name, type, class
    std::string name;  ///< as written, with dots between labels; empty where it has no name that a host can have
    std::uint16_t type = 0;
    bool readable = false;  ///< false: the answer is dns::outcome::malformed
};

/// Reads a message of one question (RFC 1035 section 4). Nothing: it is no question, and gets no answer. The result
/// views `message`.
std::optional<dns_question> read_dns_question(std::string_view message);

/// The answer. `address`: of the name; without one the name has no record of this type.
std::string write_dns_answer(const dns_question& question, dns::outcome outcome,
                             const std::optional<boost::asio::ip::address>& address = {});

}  // namespace cmcp
