#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

/// [upstream.NAME] of config.toml: another MCP server, whose tools the code in sandboxes may call.
struct upstream_entry {
    using words = std::vector<std::string>;
    using secrets = std::vector<std::pair<std::string, std::string>>;  ///< values are never shown

    std::string name;                           ///< [a-z][a-z0-9_]{0,31}
    std::string url{};                          ///< of a server that speaks Streamable HTTP; empty: there is a command
    words command{};                            ///< of a server that speaks over standard input and output
    secrets headers{};                          ///< sent with each request to `url`
    secrets env{};                              ///< variables of the command
    std::string image{};                        ///< of the command's sandbox; empty: SANDBOX_DEFAULT_IMAGE
    words network{};                            ///< hosts that the command may reach; none: no network
    words tools{"*"};                           ///< patterns of the tools on offer
    words principals{"*"};                      ///< patterns of the callers that may use them
    std::chrono::milliseconds timeout{60'000};  ///< of a call
    std::string origin{};                       ///< "config.toml:12"

    bool operator==(const upstream_entry& other) const;  ///< wherever they stand
    std::string shown() const;  ///< for people, without secrets: a query of the URL counts as one
    bool offers(std::string_view tool) const;
    bool serves(std::string_view principal) const;  ///< the default caller's name is empty
};

}  // namespace cmcp
