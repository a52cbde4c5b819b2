#pragma once

#include <filesystem>
#include <string>

namespace cmcp {
struct settings;
}  // namespace cmcp

namespace cmcp::command {

/// The token of a server that nobody gave any. The default caller uses it.
struct access_token {
    std::filesystem::path file;  ///< where it is kept; empty: MCP_AUTH_TOKENS has tokens, or none is needed
    bool fresh = false;          ///< of this start, which has to show it
};

/// Adds to `config.auth_tokens` the kept token, made at the first start, where MCP_AUTH and the address want one.
/// Where there are tokens, `config.link_key` gets the kept key. Throws config_error when one cannot be kept.
access_token settle_access(settings& config);

/// The credentials that a client of a server with these settings has to show.
struct client_access {
    bool is_needed = false;
    bool by_login = false;  ///< at an authorization server
    std::string token;      ///< the kept one; empty: the user has to name one
};
client_access needed_access(settings config);

/// "an API key or a token of an authorization server": what callers need beside or in place of MCP_AUTH_TOKENS.
std::string credentials_in_words(const settings& config);

/// A sentence for doctor: the callers that are let in.
std::string access_in_words(const settings& config);

}  // namespace cmcp::command
