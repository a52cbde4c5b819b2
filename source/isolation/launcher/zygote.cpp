#include "launcher/zygote.hpp"

#include "facilities/capabilities.hpp"
#include "facilities/mounts.hpp"
#include "facilities/setup_step.hpp"
#include "jail/payload.hpp"
#include "posix/child_process.hpp"
#include "posix/signals.hpp"
#include "wire/program_starter.hpp"
#include "wire/python_start.hpp"
#include "wire/wire.hpp"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <system_error>

namespace cmcp::sandbox {

namespace {

std::vector<std::string> environment_of(const zygote_options& options)
{
    run_request model;
    model.environment = options.environment;
    return make_environment(model);
}

// Clones mount a /proc of their own, which the kernel permits only where a whole one is visible. Nobody sees the folder
// /tmp but the interpreter.
void enter_own_mounts(int root)
{
    const unique_fd processes = copy_mount_tree(AT_FDCWD, "/proc", "show /proc to the interpreter");
    attach_mount(root, AT_FDCWD, root_mount_point, "mount the interpreter's root");
    attach_mount(processes.get(), root, "proc", "show /proc to the interpreter");
    mount_memory(root, "/tmp", 16 << 20, 1024, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
    enter_root(root);
}

void install_descriptors(int socket)
{
    for (const int stream : {0, 1, 2}) {
        const unique_fd empty(check(::open("/dev/null", O_RDWR | O_CLOEXEC), "open /dev/null"));
        check(::dup2(empty.get(), stream), "place descriptors");
    }
    check(::dup2(socket, starters_socket), "place descriptors");
}

// The clones inherit no filter from here: its answer would outweigh that of a run's own, which tells what was refused.
[[noreturn]] void become(const zygote_options& options, const zygote_home& home, int socket)
{
    constexpr int out_of_the_way = 10;
    const int speaker = ::fcntl(socket, F_DUPFD_CLOEXEC, out_of_the_way);
    try {
        die_with_parent();
        const int program = check(::open(options.path.c_str(), O_PATH | O_CLOEXEC), "open " + options.path);
        const int moved = check(::fcntl(program, F_DUPFD_CLOEXEC, out_of_the_way), "open " + options.path);
        enter_own_mounts(home.root.get());
        if (!drop_all_capabilities()) throw step_failed("drop capabilities");
        if (home.forbids_privileges) check(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "forbid new privileges");
        unblock_signals();
        install_descriptors(speaker);
        // Clones have the /proc/self/cmdline and environ of a cold run.
        auto argv = python_start::read(options.argv).value().command_line(), environment = environment_of(options);
        ::execveat(moved, "", pointers(argv).data(), pointers(environment).data(), AT_EMPTY_PATH);
        throw step_failed("start program " + options.path);
    } catch (const step_failed& failure) {
        send_packet(speaker, encoded(zygote_says::failed, explain_setup_failure(failure)));
    } catch (...) {  // the launcher sees it end, and tells it
    }
    ::_exit(127);
}

}  // namespace

zygote::zygote(const zygote_options& options, const zygote_home& home, const zygote_setup& setup)
{
    auto [ours, theirs] = packet_socket_pair();
    cloned child = clone_into_namespaces(CLONE_NEWNS, -1);
    if (child.pid == 0) become(options, home, theirs.get());
    pidfd_ = std::move(child.pidfd);
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
