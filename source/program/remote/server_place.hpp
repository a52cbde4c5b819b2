#pragma once

#include "egress/web_url.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {
struct server_settings;
struct web_settings;
}  // namespace cmcp

namespace cmcp::command {

/// Where a command finds its server, and how it is let in.
struct server_place {
    std::string socket;          ///< path of the administrators' socket; empty: `url`
    std::optional<web_url> url;  ///< without a path of its own
    std::string token;           ///< for `url`; empty: none
    std::string principal;       ///< at the socket: on whose behalf; empty: the default caller
    std::filesystem::path extra_ca;
    std::string name;  ///< "the server of SANDBOX_ROOT=…", for sentences

    /// The sentence for a connection that cannot be made, by errno.
    std::string why_unreachable(int error) const;
};

/// The absolute path of a socket in SANDBOX_ROOT.
std::string socket_path(const server_settings& config, std::string_view name);

/// The socket at which the server of SANDBOX_ROOT is administered.
server_place own_server(const server_settings& config);

/// The server at an address as people write it, with /mcp or without. Throws config_error.
server_place server_at(const web_settings& config, const std::string& address, const std::string& token);

}  // namespace cmcp::command
