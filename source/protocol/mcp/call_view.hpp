#pragma once

#include "mcp/request_register.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace cmcp {

/// A tool call that runs, as an administrator sees it.
struct call_view {
    std::string id;  ///< of the request
    std::string principal;
    std::string tool;
    std::string client;   ///< name and version, as it says
    std::string session;  ///< tag; empty: none
    std::string first_line;
    std::string sandbox;  ///< id or name; empty: none
    std::string newest;   ///< output
    bool waits = false;   ///< for a slot among the runs
    std::chrono::steady_clock::time_point began;
};

/// "name version" of a client, bounded.
std::string client_name(const caller& who);

/// The tool calls among the requests that run, oldest first.
std::vector<call_view> running_calls(const request_register& requests);

}  // namespace cmcp
