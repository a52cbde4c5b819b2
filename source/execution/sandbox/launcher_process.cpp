#include "sandbox/launcher_process.hpp"

#include "wire/packet_socket.hpp"
#include "wire/program_starter.hpp"

namespace cmcp::sandbox {

launcher_process start_launcher(const std::string& path, const launcher_options& options)
{
    auto [ours, theirs] = packet_socket_pair();
    auto started = start_program(path, arguments_of(options), theirs.get());
    return {started.pid, std::move(started.pidfd), std::move(ours)};
}

}  // namespace cmcp::sandbox
