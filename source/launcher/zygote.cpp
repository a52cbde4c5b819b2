#include "launcher/zygote.hpp"

#include "jail/payload.hpp"
#include "posix/child_process.hpp"
#include "wire/program_starter.hpp"
#include "wire/wire.hpp"

#include <system_error>

namespace cmcp::sandbox {

zygote::zygote(const zygote_options& options, const zygote_setup& setup)
{
    auto [ours, theirs] = packet_socket_pair();
    // Clones have the /proc/self/cmdline and environ of a cold run.
    pidfd_ =
        spawn_program({options.path, options.model.argv, make_environment(options.model), false}, theirs.get()).pidfd;
    socket_ = std::move(ours);
    send_packet(socket_.get(), encoded(setup));
}

zygote::~zygote()
{
    if (!pidfd_) return;
    kill_process(pidfd_.get());
    describe_end();
}

std::string zygote::describe_end()
{
    const siginfo_t end = collect_process(pidfd_.get());
    pidfd_.reset();
    const char* kind = end.si_code == CLD_EXITED ? "exit code " : "signal ";
    return "it ended with " + (kind + std::to_string(end.si_status));
}

std::optional<zygote::message> zygote::hear()
{
    auto heard = receive_packet(socket_.get());
    if (!heard) return std::nullopt;
    if (heard->bytes.empty()) {
        kill_process(pidfd_.get());
        return message{zygote_says::failed, describe_end(), {}};
    }
    wire_reader in(heard->bytes);
    message said{in.next<zygote_says>(), {}, {}};
    if (said.kind == zygote_says::ready || said.kind == zygote_says::failed) in(said.text);
    if (said.kind == zygote_says::refused) in(said.error);
    if (said.kind == zygote_says::cloned && heard->descriptors.size() == 1) {
        in(said.child.pid);
        said.child.pidfd = std::move(heard->descriptors.front());
    }
    return said;
}

bool zygote::order(std::span<const int> descriptors)
try {
    return send_packet(socket_.get(), clone_order, descriptors);
} catch (const std::system_error&) {
    return false;
}

}  // namespace cmcp::sandbox
