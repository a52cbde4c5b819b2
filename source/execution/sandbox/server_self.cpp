#include "sandbox/server_self.hpp"

#include "facilities/apparmor.hpp"
#include "facilities/capabilities.hpp"
#include "jail/seccomp_filter.hpp"
#include "jail/syscall_rules.hpp"
#include "posix/unique_fd.hpp"

#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

namespace cmcp::sandbox {
namespace {

constexpr const char* own_profile = "container-mcp";

// Programs, other users, owners and attributes of files by their names, and how other processes are scheduled.
constexpr std::string_view refused[] = {"execve",
                                        "execveat",
                                        "fork",
                                        "vfork",
                                        "setuid",
                                        "setgid",
                                        "setreuid",
                                        "setregid",
                                        "setresuid",
                                        "setresgid",
                                        "setgroups",
                                        "chown",
                                        "lchown",
                                        "setxattr",
                                        "lsetxattr",
                                        "removexattr",
                                        "lremovexattr",
                                        "utime",
                                        "utimes",
                                        "futimesat",
                                        "sched_setaffinity",
                                        "setpriority",
                                        "ioprio_set",
                                        "sched_setparam",
                                        "sched_setscheduler",
                                        "sched_setattr"};
constexpr std::string_view added[] = {"openat2",    "fallocate",  "setrlimit", "memfd_create", "futex_wake",
                                      "futex_wait", "setsockopt", "sendto",    "recvfrom",     "sendmsg",
                                      "recvmsg",    "sendmmsg",   "recvmmsg"};
constexpr std::uint64_t server_low32 = 0xffffffff;

bool is_refused(std::string_view name)
{
    return std::find(std::begin(refused), std::end(refused), name) != std::end(refused);
}

// The calls of a run, and threads, openat2 and route look-ups; but no program may be executed and no process made.
std::vector<syscall_rule> server_rules()
{
    std::vector<syscall_rule> all;
    for (std::string_view name : allowed_syscalls())
        if (!is_refused(name)) all.push_back({name, -1, 0, {}});
    for (std::string_view name : added) all.push_back({name, -1, 0, {}});
    // openat2 can name such a mode behind its pointer, but without CAP_FSETID what is written to loses it.
    for (syscall_rule& each : calls_without_set_id()) all.push_back(std::move(each));
    all.push_back({"prlimit64", -1, 0, {{0, server_low32, 0}}});
    // The mark of an overlay for what is not there any more: a device that there is none of (files/whiteout.hpp).
    all.push_back({"mknodat", -1, 0, {{2, S_IFMT, S_IFCHR}, {3, server_low32, 0}}});
    // Threads only.
    constexpr std::uint64_t namespaces = 0x7e020000;  // CLONE_NEW* as clone knows them
    all.push_back({"clone", -1, 0, {{0, namespaces | CLONE_THREAD, CLONE_THREAD}}});
    all.push_back({"clone3", 435, ENOSYS, {}});
    for (std::uint64_t family : {AF_UNIX, AF_INET, AF_INET6})
        all.push_back({"socket", -1, 0, {{0, server_low32, family}}});
    // The C library asks for the machine's addresses when it looks up names.
    all.push_back({"socket", -1, 0, {{0, server_low32, AF_NETLINK}, {2, server_low32, NETLINK_ROUTE}}});
    all.push_back({"socketpair", -1, 0, {{0, server_low32, AF_UNIX}}});
    return all;
}

// Arguments that no kernel takes: without the filter the error is another.
bool executes_nothing() { return ::syscall(SYS_execve, nullptr, nullptr, nullptr) == -1 && errno == EPERM; }

bool makes_no_process()
{
    const long child = ::syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr);
    if (child == 0) ::_exit(0);
    return child == -1 && errno == EPERM;
}

bool gives_no_set_id()
{
    const unique_fd file(::memfd_create("mode", MFD_CLOEXEC));
    return file && ::fchmod(file.get(), S_ISUID | S_IRWXU) == -1 && errno == EPERM;
}

bool opens_no_other_files()
{
    const unique_fd root(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return !root && errno == EACCES;
}

// Landlock has no say in modes, owners and times. The change is to what is there, so nothing changes where it succeeds.
bool changes_no_other_files()
{
    for (const char* folder : {"/", "/usr"}) {
        struct stat status {};
        if (::stat(folder, &status) != 0) continue;
        if (::chmod(folder, status.st_mode & 0777) == 0 || errno != EROFS) return false;
    }
    return true;
}

// Beside Landlock and the filter. It is entered by name, not by the path of the program: the launcher, which needs
// more, is not in it. Without AppArmor, without its profile, or in a container whose own profile forbids the change,
// the others still hold. The profile that is in force; empty: none.
std::string enter_own_profile()
{
    return apparmor_enabled() && enter_apparmor(own_profile) == 0 ? apparmor_profile() : std::string();
}

struct effect {
    const char* what;
    bool is_there;
};

layer judge()
{
    layer self{"server_self", layer::state::on,
               "the server executes nothing, makes no processes and reaches only its own files"};
    const std::array<effect, 4> all{
        {{"it could start programs, because there is no filter",
          executes_nothing() && makes_no_process() && gives_no_set_id()},
         {"it could open other files, because the kernel has no Landlock", opens_no_other_files()},
         {"it could change modes, owners and times of other files, because it has no "
          "mounts of its own",
          changes_no_other_files()},
         {"it has capabilities that it does not need", has_only_ownership()}}};
    const auto lost = static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [](const effect& each) { return !each.is_there; }));
    if (lost == 0) return self;
    self.is = all[0].is_there || all[1].is_there ? layer::state::degraded : layer::state::off;
    self.detail.clear();
    for (const effect& each : all)
        if (!each.is_there) self.detail += (self.detail.empty() ? "" : "; ") + std::string(each.what);
    return self;
}

}  // namespace

layer confine_server(const landlock_rules& allowed)
try {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return {"server_self", layer::state::off, "a build with a sanitizer needs more than the filter allows"};
#endif
    const bpf_program filter = compile_rules(server_rules(), EPERM);
    landlock_rules rules = allowed;
    rules.signals_outside = true;  // the launcher and the browser, which are not confined by it, can be ended
    if (!keep_only_ownership())
        return {"server_self", layer::state::off, std::string("capabilities: ") + std::strerror(errno)};
    const std::string profile = enter_own_profile();
    if (!apply_landlock(rules))
        return {"server_self", layer::state::off, std::string("Landlock: ") + std::strerror(errno)};
    if (!install_filter(filter))
        return {"server_self", layer::state::off, std::string("seccomp: ") + std::strerror(errno)};
    layer self = judge();
    if (!profile.empty()) self.detail += ", in the AppArmor profile " + profile;
    return self;
} catch (const std::exception& failure) {
    return {"server_self", layer::state::off, failure.what()};
}

}  // namespace cmcp::sandbox
