#include "browser_host/browser_host.hpp"
#include "wire/program_starter.hpp"

#include <signal.h>

#include <cstdio>
#include <exception>

int main()
{
    using namespace cmcp;
    if (!sandbox::begin_started_program("container-mcp-browser", "container-mcp", SIGKILL)) return 2;
    try {
        browser_host::host(unique_fd(sandbox::starters_socket)).serve();
        return 0;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "container-mcp-browser: %s\n", failure.what());
        return 1;
    }
}
