#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cmcp::load {

/// The address of a server, from http[s]://host[:port][/path[?query]].
struct server_address {
    bool secure = false;
    std::string host = "127.0.0.1";
    std::uint16_t port = 80;
    std::string path = "/mcp";  ///< with the query

    std::string authority() const;  ///< for the Host header
    std::string url() const;
};

/// Throws std::invalid_argument with a sentence.
server_address parse_address(std::string_view url);

/// The path to POST to, from the `endpoint` event of the stream at `stream`: a relative reference (RFC 3986
/// section 5.2) or a whole address of the same origin. Throws std::invalid_argument with a sentence.
std::string resolve_endpoint(const server_address& stream, std::string_view reference);

}  // namespace cmcp::load
