#pragma once

#include "jsonrpc/json.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp::connect {

/// How a client is to reach the server.
struct server_entry {
    std::string url;                   ///< of /mcp; empty: by the command
    std::string authorization;         ///< value of the header; empty: none
    std::vector<std::string> command;  ///< that speaks over standard input and output
};

/// Where the user's files are.
struct user_paths {
    std::map<std::string, std::string, std::less<>> variables;  ///< HOME, XDG_CONFIG_HOME, those of clients
    std::filesystem::path project;                              ///< the folder of the project

    std::string variable(std::string_view name) const;
    std::filesystem::path home() const;         ///< throws std::runtime_error where HOME is none
    std::filesystem::path config_home() const;  ///< XDG_CONFIG_HOME, else ~/.config
};

enum class scope { user, project };

/// The file of a client in a scope.
struct client_file {
    std::filesystem::path file;
    std::filesystem::path base;  ///< the folder that a link in its path must not leave
};

/// A program that speaks MCP, with the form of its settings.
struct client {
    enum class form { json, json_with_comments, toml, yaml };

    std::string_view name;   ///< on the command line
    std::string_view title;  ///< in sentences
    form written;
    std::string_view servers;  ///< the member that holds the servers
    bool takes_http = true;
    std::optional<client_file> (*file)(const user_paths& places, scope where);  ///< nothing: it has none there
    json::object (*entry)(const server_entry& server);
    std::string_view afterwards;  ///< a sentence: when the client reads its file
};

const std::vector<client>& clients();
const client* find_client(std::string_view name);

/// How to connect a client that has no file of its servers; empty: it is not known.
std::string_view by_hand(std::string_view name);

/// Members of an entry that say how the server is reached; others are the user's own and stay.
const std::vector<std::string>& managed_members();

}  // namespace cmcp::connect
