#include "launcher/zygote.hpp"

#include "jail/payload.hpp"
#include "jail/setup_step.hpp"
#include "wire/wire.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <system_error>

namespace cmcp::sandbox {
namespace {

void check_spawn(int error, const std::string& what)
{
    if (error != 0) throw std::system_error(error, std::system_category(), what);
}

struct spawn_plan {
    explicit spawn_plan(int socket)
    {
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
        ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
        ::posix_spawn_file_actions_adddup2(&actions, socket, 3);
        ::posix_spawnattr_init(&attributes);
        sigset_t all, none;
        ::sigfillset(&all);
        ::sigemptyset(&none);
        ::posix_spawnattr_setsigdefault(&attributes, &all);
        ::posix_spawnattr_setsigmask(&attributes, &none);
        ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    }
    spawn_plan(const spawn_plan&) = delete;
    spawn_plan& operator=(const spawn_plan&) = delete;
    ~spawn_plan()
    {
        ::posix_spawn_file_actions_destroy(&actions);
        ::posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
};

}  // namespace

zygote::zygote(const zygote_options& options, const zygote_setup& setup)
{
    auto [ours, theirs] = packet_socket_pair();
    if (theirs.get() <= 3) theirs.reset(::fcntl(theirs.get(), F_DUPFD_CLOEXEC, 10));
    const spawn_plan plan(theirs.get());
    // What a cold run has in /proc/self/cmdline and environ, its clones have too.
    std::vector<std::string> arguments = options.model.argv;
    std::vector<std::string> environment = make_environment(options.model);
    check_spawn(::posix_spawn(&pid_, options.path.c_str(), &plan.actions, &plan.attributes, pointers(arguments).data(),
                              pointers(environment).data()),
                "cannot start " + options.path);
    pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    socket_ = std::move(ours);
    send_packet(socket_.get(), encode_setup(setup));
}

zygote::~zygote()
{
    if (!pidfd_) return;
    ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
    describe_end();
}

std::string zygote::describe_end()
{
    siginfo_t info{};
    while (::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED) != 0 && errno == EINTR) {
    }
    pidfd_.reset();
    const char* kind = info.si_code == CLD_EXITED ? "exit code " : "signal ";
    return "it ended with " + (kind + std::to_string(info.si_status));
}

std::optional<zygote::message> zygote::hear()
{
    auto heard = receive_packet(socket_.get());
    if (!heard) return std::nullopt;
    if (heard->bytes.empty()) {
        ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
        return message{zygote_says::failed, describe_end(), {}};
    }
    wire_reader in(heard->bytes);
    message said{static_cast<zygote_says>(in.number<char>()), {}, {}};
    if (said.kind == zygote_says::ready || said.kind == zygote_says::failed) said.text = in.text();
    if (said.kind == zygote_says::refused) said.error = in.number<std::int32_t>();
    if (said.kind == zygote_says::cloned && heard->descriptors.size() == 1) {
        said.child.pid = in.number<std::int32_t>();
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
