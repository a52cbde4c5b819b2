#include "sandbox/launcher_process.hpp"

#include "wire/packet_socket.hpp"
#include "wire/program_starter.hpp"

#include <vector>

namespace cmcp::sandbox {
std::vector<std::string> arguments_of(const launcher_options& chosen)
{
    std::vector<std::string> arguments;
    if (!chosen.workspaces.empty()) arguments.push_back("--workspaces=" + chosen.workspaces);
    if (!chosen.firejail.empty()) arguments.push_back("--firejail=" + chosen.firejail);
    if (chosen.waiting != 0) arguments.push_back("--waiting=" + std::to_string(chosen.waiting));
    if (!chosen.use_cgroups) arguments.push_back("--no-cgroups");
    return arguments;
}

launcher_process start_launcher(const std::string& path, const launcher_options& chosen)
{
    auto [ours, theirs] = packet_socket_pair();
    auto made = start_program(path, path.substr(path.rfind('/') + 1), arguments_of(chosen), theirs.get());
    return {made.pid, std::move(made.pidfd), std::move(ours)};
}

}  // namespace cmcp::sandbox
