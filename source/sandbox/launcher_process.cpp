#include "sandbox/launcher_process.hpp"

#include "wire/packet_socket.hpp"
#include "wire/program_starter.hpp"

#include <vector>

namespace cmcp::sandbox {

std::vector<std::string> arguments_of(const launcher_options& options)
{
    std::vector<std::string> arguments;
    if (!options.workspaces.empty()) arguments.push_back("--workspaces=" + options.workspaces);
    if (!options.firejail.empty()) arguments.push_back("--firejail=" + options.firejail);
    if (options.waiting != 0) arguments.push_back("--waiting=" + std::to_string(options.waiting));
    if (!options.use_cgroups) arguments.push_back("--no-cgroups");
    return arguments;
}

launcher_process start_launcher(const std::string& path, const launcher_options& options)
{
    auto [ours, theirs] = packet_socket_pair();
    auto started = start_program(path, arguments_of(options), theirs.get());
    return {started.pid, std::move(started.pidfd), std::move(ours)};
}

}  // namespace cmcp::sandbox
