#include "wire/program_starter.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <vector>

namespace cmcp::sandbox {
namespace {

void check_spawn(int error, const std::string& what)
{
    if (error != 0) throw std::system_error(error, std::system_category(), what);
}

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

// Only the socket is handed over by name; the launcher itself shuts what else may have come through without O_CLOEXEC.
class spawn_actions {
public:
    explicit spawn_actions(int socket)
    {
        ::posix_spawn_file_actions_init(&actions_);
        ::posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
        ::posix_spawn_file_actions_addopen(&actions_, 1, "/dev/null", O_WRONLY, 0);
        ::posix_spawn_file_actions_adddup2(&actions_, socket, 3);
    }
    spawn_actions(const spawn_actions&) = delete;
    spawn_actions& operator=(const spawn_actions&) = delete;
    ~spawn_actions() { ::posix_spawn_file_actions_destroy(&actions_); }
    const posix_spawn_file_actions_t* get() const { return &actions_; }

private:
    posix_spawn_file_actions_t actions_;
};

}  // namespace

started_program spawn_program(const std::string& path, const std::string& name,
                              const std::vector<std::string>& arguments, int socket)
{
    // 3 itself would stay close-on-exec: dup2 onto the same number changes nothing.
    unique_fd moved;
    if (socket <= 3) moved.reset(::fcntl(socket, F_DUPFD_CLOEXEC, 10));
    const spawn_attributes attributes;
    const spawn_actions actions(moved ? moved.get() : socket);
    std::vector<std::string> texts{name};
    texts.insert(texts.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (auto& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    char* no_environment[] = {nullptr};
    started_program started;
    check_spawn(
        ::posix_spawn(&started.pid, path.c_str(), actions.get(), attributes.get(), pointers.data(), no_environment),
        "cannot start " + path);
    started.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, started.pid, 0)));
    if (!started.pidfd) throw std::system_error(errno, std::system_category(), "pidfd_open");
    return started;
}

}  // namespace cmcp::sandbox
