#include "sandbox/launcher_process.hpp"

#include "wire/packet_socket.hpp"

namespace cmcp::sandbox {

startable_program launcher_program(const std::string& path, const launcher_options& options)
{
    return {path, {}, encode_options(options)};
}

launcher_process start_launcher(const std::string& path, const launcher_options& options)
{
    auto [ours, theirs] = packet_socket_pair();
    auto started = start_program(launcher_program(path, options), theirs.get());
    return {started.pid, std::move(started.pidfd), std::move(ours)};
}

}  // namespace cmcp::sandbox
