#include "server/server_child.hpp"

#include "posix/child_process.hpp"
#include "posix/spawn_setup.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <system_error>

namespace cmcp::command {

namespace {

void check(bool done, const char* what)
{
    if (!done) throw std::system_error(errno, std::generic_category(), what);
}

// Above the numbers that the child is to have them under.
unique_fd moved(const unique_fd& from)
{
    unique_fd copy(::fcntl(from.get(), F_DUPFD_CLOEXEC, 10));
    check(bool(copy), "cannot hand a descriptor over");
    return copy;
}

// After an upgrade the newer program is there under the same path.
std::string own_program()
{
    constexpr std::string_view replaced = " (deleted)";
    std::string path = std::filesystem::read_symlink("/proc/self/exe").string();
    if (path.ends_with(replaced)) path.resize(path.size() - replaced.size());
    return path;
}

}  // namespace

server_child::server_child(const own_start& how, unique_fd listening)
{
    int ends[2] = {-1, -1};
    check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
    streams_.reset(ends[0]);
    const unique_fd theirs = moved(unique_fd(ends[1]));
    const unique_fd handed = listening ? moved(listening) : unique_fd();
    spawn_setup setup;
    setup.give(theirs.get(), STDIN_FILENO);
    setup.give(theirs.get(), STDOUT_FILENO);
    if (handed) setup.give(handed.get(), handed_descriptor);
    const std::string program = own_program();
    std::vector<std::string> words = how.words, variables;
    for (const auto& [name, value] : how.variables) variables.push_back(name + "=" + value);
    errno = ::posix_spawn(&number_, program.c_str(), setup.actions(), setup.attributes(), pointers(words).data(),
                          pointers(variables).data());
    check(errno == 0, "cannot start a server");
    process_.reset(static_cast<int>(::syscall(SYS_pidfd_open, number_, 0)));
}

server_child::~server_child()
{
    if (process_) kill_process(process_.get());
    collect_child(number_);
}

}  // namespace cmcp::command
