#include "wire/program_starter.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <vector>

namespace cmcp::sandbox {
namespace {

class spawn_attributes {
public:
    spawn_attributes()
    {
        ::posix_spawnattr_init(&attributes_);
        sigset_t all, none;
        ::sigfillset(&all);
        ::sigemptyset(&none);
        ::posix_spawnattr_setsigdefault(&attributes_, &all);
        ::posix_spawnattr_setsigmask(&attributes_, &none);
        ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    }
    spawn_attributes(const spawn_attributes&) = delete;
    spawn_attributes& operator=(const spawn_attributes&) = delete;
    ~spawn_attributes() { ::posix_spawnattr_destroy(&attributes_); }
    const posix_spawnattr_t* get() const { return &attributes_; }

private:
    posix_spawnattr_t attributes_;
};

// Only the socket is handed over by name. The program itself shuts others that may have come through without O_CLOEXEC.
class spawn_actions {
public:
    spawn_actions(int socket, bool with_errors)
    {
        ::posix_spawn_file_actions_init(&actions_);
        ::posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
        ::posix_spawn_file_actions_addopen(&actions_, 1, "/dev/null", O_WRONLY, 0);
        if (!with_errors) ::posix_spawn_file_actions_addopen(&actions_, 2, "/dev/null", O_WRONLY, 0);
        ::posix_spawn_file_actions_adddup2(&actions_, socket, starters_socket);
    }
    spawn_actions(const spawn_actions&) = delete;
    spawn_actions& operator=(const spawn_actions&) = delete;
    ~spawn_actions() { ::posix_spawn_file_actions_destroy(&actions_); }
    const posix_spawn_file_actions_t* get() const { return &actions_; }

private:
    posix_spawn_file_actions_t actions_;
};

std::vector<char*> pointers_to(std::vector<std::string>& texts)
{
    std::vector<char*> pointers;
    for (auto& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

bool is_packet_socket(int fd)
{
    int type = 0;
    socklen_t length = sizeof type;
    return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET;
}

}  // namespace

started_program spawn_program(spawn_order order, int socket)
{
    // The same number would stay close-on-exec: dup2 onto it changes nothing.
    unique_fd moved;
    if (socket <= starters_socket) moved.reset(::fcntl(socket, F_DUPFD_CLOEXEC, 10));
    const spawn_attributes attributes;
    const spawn_actions actions(moved ? moved.get() : socket, order.with_errors);
    started_program started;
    const int error = ::posix_spawn(&started.pid, order.path.c_str(), actions.get(), attributes.get(),
                                    pointers_to(order.arguments).data(), pointers_to(order.environment).data());
    if (error != 0) throw std::system_error(error, std::system_category(), "cannot start " + order.path);
    started.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, started.pid, 0)));
    if (!started.pidfd) throw std::system_error(errno, std::system_category(), "pidfd_open");
    return started;
}

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

}  // namespace cmcp::sandbox
