#pragma once

#include "posix/unique_fd.hpp"

#include <sys/types.h>

#include <string>
#include <vector>

namespace cmcp::sandbox {

struct started_program {
    pid_t pid = -1;
    unique_fd pidfd;
};

/// The descriptor over which a started program speaks with its starter.
inline constexpr int starters_socket = 3;

/// First of all in the main() of a program that is started so: nothing is open then but /dev/null and the socket, the
/// process is not dumpable and ends by `signal` with its parent. False: nobody gave it a socket, and a line on standard
/// error says that it is started by `starter`.
bool begin_started_program(const char* name, const char* starter, int signal);

/// A program, and all that it gets at its start. Everybody on the machine may read `arguments`.
struct startable_program {
    std::string path;
    std::vector<std::string> arguments;
    std::string input;  ///< on standard input, see read_starters_input()
};

/// The whole startable_program::input, once; standard input is /dev/null afterwards.
std::string read_starters_input();

/// Starts the helper (the launcher program in another role) through which start_program() goes from then on: for a
/// process that gives up starting programs itself (server_self.hpp), but for `programs`, with the arguments and
/// input that they have here. The helper ends with this process. Throws std::system_error.
void start_programs_through_helper(const std::string& launcher_path, const std::vector<startable_program>& programs);

/// Starts the program with an empty environment. Where there is a helper, arguments and input are those that the
/// helper has for its path, and the program is its child: its end shows on the pidfd, how it ended is not known.
/// Throws std::system_error.
started_program start_program(const startable_program& program, int socket);

/// The helper's life: does as it is asked on `socket` until its end.
void serve_program_starter(int socket);

}  // namespace cmcp::sandbox
