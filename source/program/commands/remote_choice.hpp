#pragma once

#include "commands/commands.hpp"
#include "remote/server_client.hpp"

#include <functional>
#include <string>

namespace cmcp::command {

/// The server that the command line names, else the one that runs for SANDBOX_ROOT. Throws config_error.
server_place place_of(const settings& config, const server_choice& choice);

/// A sandbox as a tool or a path takes it.
struct found_sandbox {
    std::string id;    ///< empty: the default one
    std::string name;  ///< for people
};

/// The sandbox that a person's word names: its name, its id, or the end of that; empty: the default one. At the
/// socket of a server it may be any principal's, for whom the client acts from then on. Throws std::runtime_error.
awaitable<found_sandbox> find_sandbox(server_client& server, std::string word);

/// "sandbox_id=…" for a query; empty for the default one.
std::string query_part(const found_sandbox& where);
std::string in_query(std::string_view text);  ///< percent-encoded

/// Standard output is gone: the command ends without a word, as a program that SIGPIPE ends.
struct closed_output {};
inline constexpr int exit_of_closed_output = 128 + 13;

/// Runs `work` with a client of the server to its end; its value is the exit code. Throws what `work` throws.
using server_work = std::function<awaitable<int>(server_client& server)>;
int with_server(const settings& config, const server_choice& choice, const server_work& work);

}  // namespace cmcp::command
