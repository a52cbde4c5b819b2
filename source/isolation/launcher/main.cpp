#include "firejail/inside.hpp"
#include "launcher/launcher.hpp"
#include "wire/program_starter.hpp"

#include <signal.h>

#include <cstdio>
#include <exception>
#include <string>

int main(int argc, char** argv)
{
    using namespace cmcp;
    if (!sandbox::begin_started_program("container-mcp-launcher", "container-mcp", SIGTERM)) return 2;
    unique_fd server(sandbox::starters_socket);
    const std::string role = argc > 1 ? argv[1] : "";
    try {
        if (role == sandbox::inside_argument)
            sandbox::live_inside(std::move(server));
        else if (role == "--starter")
            sandbox::serve_program_starter(server.get());
        else
            sandbox::launcher(std::move(server), sandbox::decode_options(sandbox::read_starters_input())).serve();
        return 0;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "container-mcp-launcher: %s\n", failure.what());
        return 1;
    }
}
