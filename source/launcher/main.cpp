#include "launcher/inside.hpp"
#include "launcher/launcher.hpp"
#include "wire/program_starter.hpp"

#include <signal.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

cmcp::sandbox::launcher_settings read_arguments(const std::vector<std::string>& arguments)
{
    const std::string workspaces = "--workspaces=", firejail = "--firejail=", waiting = "--waiting=";
    cmcp::sandbox::launcher_settings settings;
    for (const auto& each : arguments) {
        if (each == "--no-cgroups") settings.use_cgroups = false;
        if (each.starts_with(firejail)) settings.firejail = each.substr(firejail.size());
        if (each.starts_with(waiting)) settings.waiting = std::stoul(each.substr(waiting.size()));
        if (each.starts_with(workspaces)) settings.workspaces = each.substr(workspaces.size());
    }
    return settings;
}

}  // namespace

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
            sandbox::launcher(std::move(server), read_arguments({argv + 1, argv + argc})).serve();
        return 0;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "container-mcp-launcher: %s\n", failure.what());
        return 1;
    }
}
