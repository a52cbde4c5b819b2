#include "sandbox/server_self.hpp"

#include "facilities/capabilities.hpp"
#include "posix/bytes.hpp"
#include "sandbox/native_backend.hpp"
#include "sandbox/visible_paths.hpp"
#include "test/execution/sandbox/run_support.hpp"
#include "test/isolation/layers/in_child.hpp"
#include "wire/program_starter.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
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
        if (confine_server(only(own.path)).is == layer::state::off) return 2;
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

namespace {

constexpr uid_t ordinary = 21'200;

/// Files that a captured server would like to change, and a place of its own.
struct machine {
    explicit machine(uid_t owner)
    {
        const auto check = [](int result) {
            if (result != 0) throw std::system_error(errno, std::generic_category());
        };
        std::ofstream(file()) << "content";
        for (const auto& path : {other.path, own.path, file()}) {
            check(::chmod(path.c_str(), path == file() ? 0640 : 0711));
            if (::geteuid() == 0) check(::chown(path.c_str(), owner, owner));
        }
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        socket().copy(address.sun_path, sizeof address.sun_path - 1);
        listens.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        check(::bind(listens.get(), reinterpret_cast<sockaddr*>(&address), sizeof address));
        check(::chmod(socket().c_str(), 0666));
        check(::listen(listens.get(), 1));
        check(::stat(file().c_str(), &before));
    }
    std::string file() const { return other.path + "/file"; }
    std::string socket() const { return other.path + "/socket"; }
    bool is_untouched() const
    {
        struct stat now {};
        std::ifstream in(file());
        std::string text;
        return ::stat(file().c_str(), &now) == 0 && std::getline(in, text) && text == "content" &&
               now.st_mode == before.st_mode && now.st_uid == before.st_uid && now.st_gid == before.st_gid &&
               now.st_mtim.tv_sec == before.st_mtim.tv_sec && now.st_ctim.tv_nsec == before.st_ctim.tv_nsec &&
               now.st_nlink == before.st_nlink;
    }

    temporary_workspace own, other;
    unique_fd listens;
    struct stat before {};
};

/// Everything that changes or shows a file by its name. Empty: all was refused; else what succeeded.
std::string changed_at(const std::string& path, const std::string& own)
{
    const char* const at = path.c_str();
    const timespec times[2] = {{1, 0}, {1, 0}};
    struct stat status {};
    const auto by_name = [&](const char* call, long result) { return result >= 0 ? std::string(call) + ' ' : ""; };
    std::string done = by_name("chmod", ::chmod(at, 0666)) + by_name("set-uid", ::chmod(at, 04755)) +
                       by_name("fchmodat2", ::syscall(452, AT_FDCWD, at, 0666, 0)) +
                       by_name("chown", ::chown(at, ::getuid(), ::getgid())) +
                       by_name("fchownat", ::fchownat(AT_FDCWD, at, 1, 1, AT_SYMLINK_NOFOLLOW)) +
                       by_name("utimensat", ::utimensat(AT_FDCWD, at, times, 0)) +
                       by_name("setxattr", ::setxattr(at, "user.x", "y", 1, 0)) +
                       by_name("removexattr", ::lremovexattr(at, "user.x")) + by_name("stat", ::stat(at, &status)) +
                       by_name("truncate", ::truncate(at, 0)) + by_name("link", ::link(at, (own + "/linked").c_str())) +
                       by_name("rename", ::rename(at, (own + "/moved").c_str())) + by_name("unlink", ::unlink(at)) +
                       by_name("mknod", ::mknod((path + "x").c_str(), S_IFIFO | 0666, 0)) +
                       by_name("symlink", ::symlink("x", (path + "y").c_str())) +
                       by_name("mkdir", ::mkdir((path + "z").c_str(), 0777)) +
                       by_name("open", ::open(at, O_PATH | O_CLOEXEC)) +
                       by_name("read", ::open(at, O_RDONLY | O_CLOEXEC)) +
                       by_name("create", ::open((path + "w").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    return done.empty() ? done : done + "at " + path;
}

/// Names one thing of the machine that a captured server reaches; empty: nothing.
std::string reached_by_captured_server(const machine& of, bool as_root)
{
    if (!as_root && ::geteuid() == 0 &&
        (::setgroups(0, nullptr) != 0 || ::setresgid(ordinary, ordinary, ordinary) != 0 ||
         ::setresuid(ordinary, ordinary, ordinary) != 0))
        return "no ordinary user";
    const unique_fd folder(::open(of.own.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
        foreign(::open(of.other.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const landlock_rules rules = only(of.own.path);
    if (const auto why = show_only(rules); !why.empty()) return "impossible: " + why;
    const layer self = confine_server(rules);
    if (self.is != layer::state::on && landlock_abi() != 0) return self.detail;
    const std::string from_root = of.file().substr(1), parent = "/proc/" + std::to_string(::getppid());
    const auto by_descriptor = [&](const unique_fd& fd) {
        return "/proc/self/fd/" + std::to_string(fd.get()) + "/../" + of.file().substr(of.other.path.rfind('/') + 1);
    };
    for (const std::string& way :
         {of.file(), of.own.path + "/../" + of.file().substr(of.other.path.rfind('/') + 1), "/proc/1/root/" + from_root,
          parent + "/root/" + from_root, parent + "/cwd/" + from_root, "/proc/self/root/../" + from_root,
          by_descriptor(folder), by_descriptor(foreign), std::string("/etc/passwd"), std::string("/root/x"),
          std::string("/var/lib/x"), std::string("/tmp/x")})
        if (const auto done = changed_at(way, of.own.path); !done.empty()) return done;
    for (const char* seen : {"/usr/bin/env", "/usr", "/", "/proc/sys/kernel/hostname"}) {
        const timespec times[2] = {{1, 0}, {1, 0}};
        if (::chmod(seen, 0755) == 0 || ::fchownat(AT_FDCWD, seen, ::getuid(), ::getgid(), 0) == 0 ||
            ::utimensat(AT_FDCWD, seen, times, 0) == 0)
            return std::string("metadata of ") + seen;
    }
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    of.socket().copy(address.sun_path, sizeof address.sun_path - 1);
    const unique_fd caller(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(caller.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return "a socket";
    return {};
}

/// Names one thing that a confined server cannot do with its own files although it should, or can although it should
/// not.
std::string wrong_with_own_files(const machine& of)
{
    const std::string name = of.own.path + "/file";
    const unique_fd file(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    const timespec times[2] = {{1, 0}, {1, 0}};
    struct stat status {};
    if (!file || ::write(file.get(), "x", 1) != 1 || ::fchmod(file.get(), 0755) != 0 ||
        ::futimens(file.get(), times) != 0 || ::chmod(name.c_str(), 0640) != 0)
        return "the own file";
    for (const mode_t mode : {04755, 02755, 06711, 04000})
        if (::fchmod(file.get(), mode) == 0 || ::chmod(name.c_str(), mode) == 0 ||
            ::open((name + "set").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, mode) >= 0)
            return "a mode with set-uid or set-gid";
    open_how how{};
    how.flags = O_RDWR | O_CREAT | O_CLOEXEC;
    how.mode = 04755;
    const unique_fd behind(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, (name + "2").c_str(), &how, sizeof how)));
    if (!behind || ::write(behind.get(), "x", 1) != 1 || ::fstat(behind.get(), &status) != 0) return "openat2";
    if ((status.st_mode & (S_ISUID | S_ISGID)) != 0) return "a program with set-uid";
    if (::fsetxattr(file.get(), "security.capability", "\1\0\0\2\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20, 0) == 0)
        return "a capability of a file";
    if (::mknod((name + "dev").c_str(), S_IFCHR | 0666, 0x0103) == 0) return "a device";
    if (!has_only_ownership()) return "capabilities";
    if (::geteuid() != 0) return {};
    if (::fchown(file.get(), 1234, 1234) != 0 || ::fstat(file.get(), &status) != 0 || status.st_uid != 1234)
        return "root gives no files to users";
    if (::syscall(SYS_setfsuid, 1234) != 0 || ::syscall(SYS_setfsuid, -1) != 1234) return "root takes no user's rights";
    return {};
}

// The sentence of a child: it has no other way to say which step went wrong.
std::string report_of_child(const std::function<std::string()>& work)
{
    auto [reading, writing] = make_pipe();
    const int end = cmcp::test::in_child([&, &writing = writing] {
        const std::string text = work();
        return write_all(writing.get(), text) ? 0 : 1;
    });
    writing.reset();
    std::string text = end == 0 ? "" : "the child ended with " + std::to_string(end) + ". ";
    char part[512];
    for (ssize_t count = 0; (count = ::read(reading.get(), part, sizeof part)) > 0;)
        text.append(part, static_cast<std::size_t>(count));
    return text;
}

}  // namespace

TEST_CASE("a captured server changes and sees nothing outside of its places, as root and as an ordinary user")
{
    for (const bool as_root : {true, false}) {
        if (as_root && ::geteuid() != 0) continue;
        const machine of(::geteuid() != 0 ? ::geteuid() : as_root ? 0 : ordinary);
        const auto reached = report_of_child([&] {
            const auto reached = reached_by_captured_server(of, as_root);
            return reached.empty() ? wrong_with_own_files(of) : reached;
        });
        INFO((as_root ? "as root" : "as an ordinary user"));
        CHECK(of.is_untouched());
        if (reached.starts_with("impossible: ")) {
            WARN(reached);
            continue;
        }
        CHECK(reached == "");
    }
}

TEST_CASE("places behind links and below the working folder keep their names")
{
    const temporary_workspace top;
    std::filesystem::create_directories(top.path + "/real/data");
    std::filesystem::create_directory_symlink("real", top.path + "/near");
    std::filesystem::create_directory_symlink(top.path + "/near/data", top.path + "/far");
    std::ofstream(top.path + "/real/data/file") << "x";
    std::ofstream(top.path + "/real/outside") << "x";
    const auto problem = report_of_child([&]() -> std::string {
        if (::chdir(top.path.c_str()) != 0) return "chdir";
        if (const auto why = show_only({{}, {"/usr", "/bin"}, {"far", top.path + "/absent"}}); !why.empty())
            return "impossible: " + why;
        for (const char* name : {"far/file", "near/data/file", "real/data/file"})
            if (::access(name, R_OK) != 0 || ::access((top.path + "/" + name).c_str(), W_OK) != 0) return name;
        if (::access("real/outside", F_OK) == 0) return "what is beside a place";
        if (::access("/bin/sh", X_OK) != 0) return "/bin";
        std::ofstream("far/new") << "y";
        return ::access("real/data/new", F_OK) == 0 ? "" : "a new file";
    });
    if (problem.starts_with("impossible: "))
        WARN(problem);
    else
        CHECK(problem == "");
    CHECK((std::filesystem::exists(top.path + "/real/data/new") || !problem.empty()));
}

TEST_CASE("a server whose places are all of the machine keeps its mounts, and says why")
{
    const auto why = report_of_child([] {
        auto why = show_only({{}, {"/usr"}, {"/"}});
        if (::access("/etc", F_OK) != 0) why += " /etc is gone";
        return why;
    });
    CHECK(why == "the folder / is one of its paths, with all below it");
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
        start_programs_through_helper(options.launcher_path, {launcher_program(options.launcher_path)});
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
