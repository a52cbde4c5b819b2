#include "wire/program_starter.hpp"

#include "posix/bytes.hpp"
#include "posix/child_process.hpp"
#include "posix/spawn_setup.hpp"
#include "wire/packet_socket.hpp"
#include "wire/wire.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

namespace cmcp::sandbox {

template <class Wire>
void fields(Wire& wire, wired<Wire, startable_program>& program)
{
    wire(program.path, program.arguments, program.input);
}

namespace {

bool is_packet_socket(int fd)
{
    int type = 0;
    socklen_t length = sizeof type;
    return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET;
}

constexpr int patience_ms = 5000;

// Of this process: it has one helper or none.
struct helper_state {
    unique_fd socket;
    std::vector<startable_program> programs;
};

helper_state& helper()
{
    static helper_state only;
    return only;
}

/// Programs that end stay to be waited for while one of these lives. Without it they are gone at once (SIG_IGN, see
/// wait(2)), and one that is killed as it starts is gone before its pidfd is open.
class waitable_children {
public:
    waitable_children() { ::sigaction(SIGCHLD, &usual_, &before_); }
    waitable_children(const waitable_children&) = delete;
    waitable_children& operator=(const waitable_children&) = delete;
    ~waitable_children() { ::sigaction(SIGCHLD, &before_, nullptr); }

private:
    struct sigaction usual_ {};
    struct sigaction before_ {};
};

// spawn_setup wants other numbers than those that the program will see.
unique_fd out_of_the_way(int fd)
{
    unique_fd moved(::fcntl(fd, F_DUPFD_CLOEXEC, 10));
    if (!moved) throw std::system_error(errno, std::system_category(), "cannot move a descriptor");
    return moved;
}

unique_fd file_with(const std::string& input)
{
    unique_fd file(::memfd_create("input", MFD_CLOEXEC));
    if (!file || !write_all(file.get(), input) || ::lseek(file.get(), 0, SEEK_SET) != 0)
        throw std::system_error(errno, std::system_category(), "cannot hold the input of a program");
    return out_of_the_way(file.get());
}

// Nothing is open in the program but its input, the socket (as descriptor 3) and standard error.
started_program spawn_program(const startable_program& program, int socket)
{
    const std::string& path = program.path;
    const unique_fd input = file_with(program.input), moved = out_of_the_way(socket);
    // Only these are handed over by name. The program itself shuts others that may have come through without O_CLOEXEC.
    spawn_setup setup;
    setup.give(input.get(), STDIN_FILENO);
    setup.give_nothing(STDOUT_FILENO, O_WRONLY);
    setup.give(moved.get(), starters_socket);
    std::vector<std::string> argv{path.substr(path.rfind('/') + 1)}, environment;
    argv.insert(argv.end(), program.arguments.begin(), program.arguments.end());
    started_program started;
    const int error = ::posix_spawn(&started.pid, path.c_str(), setup.actions(), setup.attributes(),
                                    pointers(argv).data(), pointers(environment).data());
    if (error != 0) throw std::system_error(error, std::system_category(), "cannot start " + path);
    started.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, started.pid, 0)));
    if (!started.pidfd) throw std::system_error(errno, std::system_category(), "pidfd_open");
    return started;
}

void answer(int socket, const std::vector<startable_program>& programs, packet& order)
{
    started_program started;
    int error = EINVAL;
    try {
        const auto number = decoded<std::uint32_t>(order.bytes);
        if (number < programs.size() && order.descriptors.size() == 1) {
            const waitable_children until_its_pidfd_is_open;
            started = spawn_program(programs[number], order.descriptors[0].get());
            error = 0;
        }
    } catch (const std::system_error& failure) {
        error = failure.code().value();
    }
    if (started.pidfd) ::waitpid(started.pid, nullptr, WNOHANG);  // one that has ended meanwhile
    const int fd = started.pidfd.get();
    send_packet(socket, encoded(error, started.pid), {&fd, started.pidfd ? 1u : 0u});
}

std::uint32_t number_of(const std::string& path)
{
    const auto& programs = helper().programs;
    const auto entry =
        std::find_if(programs.begin(), programs.end(), [&](const auto& each) { return each.path == path; });
    if (entry == programs.end())
        throw std::system_error(EPERM, std::system_category(),
                                path + " is not among the programs that the server may have started");
    return static_cast<std::uint32_t>(entry - programs.begin());
}

}  // namespace

bool begin_started_program(const char* name, const char* starter, int signal)
{
    if (!is_packet_socket(starters_socket)) {
        std::fprintf(stderr, "%s is started by %s; it does nothing by itself.\n", name, starter);
        return false;
    }
    ::prctl(PR_SET_DUMPABLE, 0);
    ::prctl(PR_SET_PDEATHSIG, signal);  // the socket's end says the same; this holds if someone else keeps the socket
    ::umask(022);
    ::fcntl(starters_socket, F_SETFD, FD_CLOEXEC);
    ::syscall(SYS_close_range, 4u, ~0u, 0);
    // Low numbers are where a run finds its own descriptors (0 to 4): nothing else may ever be there.
    while (::open("/dev/null", O_RDWR | O_CLOEXEC) < 4) {
    }
    return true;
}

std::string read_starters_input()
{
    std::string input = read_all(STDIN_FILENO);
    const unique_fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!nothing || ::dup2(nothing.get(), STDIN_FILENO) < 0)
        throw std::system_error(errno, std::system_category(), "cannot close the input");
    return input;
}

void start_programs_through_helper(const std::string& launcher_path, const std::vector<startable_program>& programs)
{
    auto [ours, theirs] = packet_socket_pair();
    spawn_program({launcher_path, {"--starter"}, {}}, theirs.get());
    send_packet(ours.get(), encoded(programs));
    helper() = {std::move(ours), programs};  // its end is the helper's
}

started_program start_program(const startable_program& program, int socket)
{
    const int to = helper().socket.get();
    if (to < 0) return spawn_program(program, socket);
    send_packet(to, encoded(number_of(program.path)), {&socket, 1});
    auto answered = wait_for_packet(to, patience_ms);
    if (!answered) throw std::system_error(EPIPE, std::system_category(), "the helper that starts programs is gone");
    int error = 0;
    pid_t pid = -1;
    wire_reader in(answered->bytes);
    in(error, pid);
    if (error != 0 || answered->descriptors.empty())
        throw std::system_error(error, std::system_category(), "cannot start " + program.path);
    return {pid, std::move(answered->descriptors.front())};
}

void serve_program_starter(int socket)
{
    ::signal(SIGCHLD, SIG_IGN);  // nobody waits for what is started here: it is gone when it ends
    const auto list = wait_for_packet(socket, -1);
    if (!list) return;
    const auto programs = decoded<std::vector<startable_program>>(list->bytes);
    while (auto order = wait_for_packet(socket, -1)) answer(socket, programs, *order);
}

}  // namespace cmcp::sandbox
