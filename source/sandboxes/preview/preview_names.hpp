#pragma once

#include "preview/port_links.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The addresses of shown ports. With MCP_PREVIEW_DOMAIN each port of a sandbox has an origin of its own,
/// `<port>-<the sandbox's random digits>-<node>.<domain>`; without it a link is a path below the server's own origin.
namespace cmcp {

/// The first label of an origin: at most the 63 characters that DNS allows.
struct preview_label {
    std::uint16_t port = 0;
    std::string digits;  ///< the last 32 of the sandbox's id
    std::string node;  ///< of the sandbox's id; empty: the label names none, because the node's name has no room there
};

inline constexpr std::string_view preview_folder = "/preview/";
inline constexpr std::string_view preview_parameter = "cmcp_preview";

/// Whether a Host lies beneath the domain, whatever stands before it. An empty domain has nothing beneath.
bool is_beneath(std::string_view host, std::string_view domain);

/// The label of a Host beneath the domain; nothing when it is no shown port's.
std::optional<preview_label> read_label(std::string_view host, std::string_view domain);

/// Also of a label without a node, which links had before.
bool is_label_of(const preview_label& label, const port_link& link);

/// The link as people open it. `server`: scheme, host and port of this server, without a slash at the end.
std::string url_of(const port_link& link, std::string_view server, std::string_view domain);

/// A link as url_of() makes it, taken apart.
struct token_in_url {
    std::string text;  ///< empty: the URL is none
    std::string rest;  ///< path, query and fragment, as the program gets them
};
token_in_url token_in(std::string_view url, std::string_view server, std::string_view domain);

std::string without_preview_parameter(std::string_view query);

}  // namespace cmcp
