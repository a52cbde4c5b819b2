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

/// A program that a confined server may still have started, with these arguments and no others.
struct startable_program {
    std::string path;
    std::vector<std::string> arguments;
};

/// Starts the helper (the launcher program in another role) through which start_program() goes from then on: for a
/// process that gives up starting programs itself (server_self.hpp). The helper ends with this process. Throws
/// std::system_error.
void start_programs_through_helper(const std::string& launcher_path, const std::vector<startable_program>& programs);

/// Starts the program at `path`, with an empty environment. Where there is a helper, `arguments` are those that the
/// helper was told, and the program is its child: its end shows on the pidfd, how it ended is not known. Throws
/// std::system_error.
started_program start_program(const std::string& path, const std::vector<std::string>& arguments, int socket);

/// The helper's life: does as it is asked on `socket` until its end.
void serve_program_starter(int socket);

}  // namespace cmcp::sandbox
