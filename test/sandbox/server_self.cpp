#include "sandbox/server_self.hpp"

#include "sandbox/native_backend.hpp"
#include "test/sandbox/in_child.hpp"
#include "test/sandbox/run_support.hpp"
#include "wire/program_starter.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <atomic>
#include <future>
#include <system_error>
#include <thread>

namespace cmcp::sandbox::test {

TEST_CASE("whatever the server asks for, a workspace lies below the folder that the launcher was started with")
{
    const temporary_workspace root, elsewhere;
    std::filesystem::create_directories(root.path + "/callers/a/workspace");
    std::filesystem::create_symlink(elsewhere.path, root.path + "/link");
    native_backend::options options = launcher_under_test();
    options.launcher.workspaces = root.path;
    asio::io_context io;
    native_backend backend(io.get_executor(), options);
    const auto why = [&](const std::string& workspace) {
        run_request wanted;
        wanted.argv = {"/usr/bin/true"};
        wanted.workspace = workspace;
        capture output;
        return cmcp::test::run_coroutine(io, backend.run(std::move(wanted), output)).why;
    };
    CHECK(why(root.path + "/callers/a/workspace") == cause::exited);
    for (const std::string& outside :
         {elsewhere.path, std::string("/etc"), root.path + "/link", root.path + "/../" + elsewhere.path.substr(5),
          root.path + "/callers/../../etc", root.path, std::string("/")})
        CHECK(why(outside) == cause::setup_failed);
}

// These tests are left out under a sanitizer, because a server with a sanitizer's runtime is not confined.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

bool server_opens(const std::string& path, int flags)
{
    const unique_fd file(::open(path.c_str(), flags | O_CLOEXEC, 0600));
    return static_cast<bool>(file);
}

landlock_rules only(const std::string& folder)
{
    return {{}, {"/usr", "/proc", "/dev/urandom"}, {folder, "/dev/null"}};
}

}  // namespace

TEST_CASE("code injected into a confined server starts no program and makes no process")
{
    const temporary_workspace w;
    const int answer = cmcp::test::in_child([&] {
        if (confine_server(only(w.path)).is == layer::state::off) return 2;
        char program[] = "/usr/bin/id";
        char* arguments[] = {program, nullptr};
        char* environment[] = {nullptr};
        if (::execve(program, arguments, environment) != -1 || errno != EPERM) return 3;
        pid_t child = 0;
        if (::posix_spawn(&child, program, nullptr, nullptr, arguments, environment) == 0) return 4;
        if (::fork() != -1) return 5;
        if (::syscall(SYS_ptrace, PTRACE_ATTACH, ::getppid(), nullptr, nullptr) != -1) return 6;
        if (::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0) != -1) return 7;
        if (::syscall(SYS_unshare, 0x10000000) != -1) return 8;
        return ::syscall(SYS_setresuid, 1, 1, 1) == -1 ? 0 : 9;
    });
    CHECK(answer == 0);
}

TEST_CASE("code injected into a confined server reaches only the server's own files")
{
    if (landlock_abi() == 0) return;
    const temporary_workspace own, other;
    const int answer = cmcp::test::in_child([&] {
        if (confine_server(only(own.path)).is != layer::state::on) return 2;
        if (!server_opens(own.path + "/file", O_WRONLY | O_CREAT)) return 3;
        if (!server_opens("/usr/bin/id", O_RDONLY)) return 4;
        if (server_opens(other.path + "/file", O_WRONLY | O_CREAT)) return 5;
        if (server_opens("/etc/passwd", O_RDONLY) || server_opens("/root", O_RDONLY | O_DIRECTORY)) return 6;
        if (server_opens("/proc/self/mem", O_RDWR)) return 7;
        return server_opens("/usr/bin/id", O_WRONLY) ? 8 : 0;
    });
    CHECK(answer == 0);
}

TEST_CASE("a thread that was confined before, to places of its own, reaches those, and the rest of the server does not")
{
    const temporary_workspace rest, own;
    const int answer = cmcp::test::in_child([&] {
        std::promise<bool> is_confined, may_go_on;
        std::atomic<int> problem = 0;
        std::thread apart([&] {
            is_confined.set_value(confine_server(only(own.path)).is != layer::state::off);
            may_go_on.get_future().wait();
            if (!server_opens(own.path + "/record", O_WRONLY | O_CREAT)) problem = 3;
            if (server_opens(rest.path + "/file", O_WRONLY | O_CREAT)) problem = 4;
            if (::fork() != -1) problem = 5;
        });
        if (!is_confined.get_future().get() || confine_server(only(rest.path)).is == layer::state::off) problem = 2;
        if (server_opens(own.path + "/other", O_WRONLY | O_CREAT)) problem = 6;
        if (!server_opens(rest.path + "/file", O_WRONLY | O_CREAT)) problem = 7;
        may_go_on.set_value(true);
        apart.join();
        if (server_opens(own.path + "/record", O_RDONLY)) problem = 8;
        return problem.load();
    });
    CHECK(answer == 0);
}

TEST_CASE("a confined server still has threads, sockets and memory files")
{
    const temporary_workspace w;
    const int answer = cmcp::test::in_child([&] {
        if (confine_server(only(w.path)).is == layer::state::off) return 2;
        int seen = 0;
        std::thread([&] { seen = 1; }).join();
        if (seen != 1) return 3;
        const unique_fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (!listener || ::listen(listener.get(), 1) != 0) return 4;
        const unique_fd memory(static_cast<int>(::syscall(SYS_memfd_create, "x", 1)));
        return memory ? 0 : 5;
    });
    CHECK(answer == 0);
}

TEST_CASE("a confined server runs programs through its launcher, also after that has died, and none else")
{
    const temporary_workspace w;
    const auto run = [&](asio::io_context& io, native_backend& backend) {
        run_request wanted;
        wanted.argv = {"/usr/bin/bash", "-c", "echo well"};
        wanted.workspace = w.path;
        capture output;
        cmcp::test::run_coroutine(io, backend.run(std::move(wanted), output));
        return output.out == "well\n";
    };
    const int answer = cmcp::test::in_child([&] {
        native_backend::options options = launcher_under_test();
        launcher_process started = start_launcher(options.launcher_path);
        start_programs_through_helper(options.launcher_path, {{options.launcher_path, {}}});
        if (confine_server(only(w.path)).is == layer::state::off) return 2;
        asio::io_context io;
        native_backend backend(io.get_executor(), std::move(started), options);
        if (!run(io, backend)) return 3;
        const int first = backend.launcher_pid();
        const unique_fd ended(static_cast<int>(::syscall(SYS_pidfd_open, first, 0)));
        if (first <= 0 || ::kill(first, SIGKILL) != 0) return 4;
        pollfd wait{ended.get(), POLLIN, 0};
        if (::poll(&wait, 1, 5000) != 1) return 5;
        if (!run(io, backend)) return 6;
        if (backend.launcher_pid() == first) return 7;
        try {
            start_launcher("/usr/bin/id");
            return 8;
        } catch (const std::system_error& refused) {
            return refused.code().value() == EPERM ? 0 : 9;
        }
    });
    CHECK(answer == 0);
}

#endif

}  // namespace cmcp::sandbox::test
