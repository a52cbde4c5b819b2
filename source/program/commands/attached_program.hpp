#pragma once

#include "async/asio.hpp"
#include "remote/server_client.hpp"

#include <string>
#include <vector>

namespace cmcp::command {

/// A program in a sandbox on the standard streams of this process.
struct attached_program {
    std::string sandbox;              ///< part of a query, by query_part()
    std::vector<std::string> argv{};  ///< empty: bash
    bool terminal = false;            ///< this process has one, which the program gets; else it has three streams
};

/// Starts it and goes on until it ends, and gives its exit code. A signal to this process ends it: the code is 128 and
/// the signal's number then. Throws closed_output, and std::runtime_error.
awaitable<int> attach(server_client& server, attached_program what);

/// Whether standard input and output are a terminal.
bool has_terminal();

/// Whole texts to a program without a terminal: its exit code, and what it printed. For short work.
struct program_output {
    int code = 0;
    std::string out{}, err{};
};
awaitable<program_output> run_with(server_client& server, std::string sandbox, std::vector<std::string> argv,
                                   std::string input);

}  // namespace cmcp::command
