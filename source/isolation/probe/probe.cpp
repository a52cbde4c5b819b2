#include "probe/probe.hpp"

#include "facilities/apparmor.hpp"
#include "facilities/landlock.hpp"
#include "facilities/setup_step.hpp"
#include "posix/bytes.hpp"
#include "posix/child_process.hpp"
#include "probe/probe_facts.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

namespace cmcp::sandbox {
namespace {

// The id outside is in the second column; -1 where the map cannot be read.
std::int64_t outside_user()
{
    std::ifstream file("/proc/self/uid_map");
    std::int64_t inside = 0, outside = 0, count = 0;
    if (!(file >> inside >> outside >> count)) return -1;
    return outside + (static_cast<std::int64_t>(::getuid()) - inside);
}

std::string host_name()
{
    utsname names{};
    ::uname(&names);
    return names.nodename;
}

json::object identity_facts()
{
    return {{"pid", ::getpid()}, {"uid", ::getuid()}, {"outside_uid", outside_user()}, {"host_name", host_name()}};
}

struct local_address {
    sockaddr_un address;
    socklen_t length;
};

local_address outside_socket_address()
{
    constexpr std::string_view name = "container-mcp-outside";
    local_address to{};
    to.address.sun_family = AF_UNIX;
    std::memcpy(to.address.sun_path + 1, name.data(), name.size());  // a first byte of 0: no file
    to.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    return to;
}

bool cannot_reach_outside(const unique_fd& socket)
{
    const local_address to = outside_socket_address();
    const int result = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to.address), to.length);
    return result != 0 && errno == EPERM;
}

// True when nothing could be made there. A file that could be made is removed again.
bool cannot_write_to(const char* folder)
{
    const std::string path = std::string(folder) + "/.container-mcp-probe";
    if (::mkdir(path.c_str(), 0700) != 0) return true;
    ::rmdir(path.c_str());
    return false;
}

constexpr int capability_numbers = 64;

// Counted rather than copied: what matters is that none is left.
json::object capability_facts()
{
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
    ::syscall(SYS_capget, &header, sets);
    int held = 0, bounding = 0, ambient = 0;
    for (const auto& s : sets) held += __builtin_popcount(s.effective | s.permitted | s.inheritable);
    for (int c = 0; c != capability_numbers; ++c) {
        bounding += ::prctl(PR_CAPBSET_READ, c, 0, 0, 0) == 1;
        ambient += ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, c, 0, 0) == 1;
    }
    return {{"held", held}, {"bounding", bounding}, {"ambient", ambient}};
}

// A limit of one byte also keeps the kernel from handing the dump to the host's handler, which a limit of 0 does not
// (core(5)); that limit must stay.
bool limit_stays()
{
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    rlimit now{};
    return ::getrlimit(RLIMIT_CORE, &now) == 0 && now.rlim_cur == 1 && now.rlim_max == 1;
}

bool crash_leaves_none()
{
    const int status = in_forked_child([] { return ::raise(SIGQUIT); });
    return WIFSIGNALED(status) && !WCOREDUMP(status);
}

// The children live until all are made, because a limit holds those that live.
json::object fork_facts()
{
    std::vector<pid_t> children;
    bool refused = false;
    while (!refused && children.size() <= probe_processes) {
        const pid_t child = ::fork();
        if (child == 0)
            for (;;) ::pause();
        refused = child < 0 && errno == EAGAIN;
        if (child > 0) children.push_back(child);
    }
    for (const pid_t child : children) ::kill(child, SIGKILL);
    for (const pid_t child : children) collect_child(child);
    return {{"refused", refused}};
}

bool cannot_read(const char* path)
{
    const unique_fd file(::open(path, O_RDONLY | O_CLOEXEC));
    return !file;
}

json::array processes_shown()
{
    json::array pids;
    const auto close = [](DIR* opened) { ::closedir(opened); };
    std::unique_ptr<DIR, decltype(close)> folder(::opendir("/proc"), close);
    while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr)
        if (long pid = std::strtol(entry->d_name, nullptr, 10); pid > 0) pids.emplace_back(pid);
    return pids;
}

json::object proc_facts()
{
    char self[32] = {};
    const bool there = ::readlink("/proc/self", self, sizeof self - 1) > 0;
    json::object proc{{"there", there}};
    proc["own"] = there && std::string(self) == std::to_string(::getpid());
    proc["processes"] = processes_shown();
    struct statfs settings {};  // of the sandbox's own where they lie in a file system of its own
    const bool kernels_own = ::statfs("/proc/sys", &settings) == 0 && settings.f_type == PROC_SUPER_MAGIC;
    proc["system_settings"] = kernels_own || ::access("/proc/sysrq-trigger", W_OK) == 0;
    proc["figures"] = ::access("/proc/meminfo", R_OK) == 0 && ::access("/proc/uptime", R_OK) == 0;
    return proc;
}

void add_device_of_programs(json::object& facts)
{
    struct stat status {};
    if (::stat("/usr", &status) == 0) facts["usr_device"] = status.st_dev;
}

}  // namespace

void report_probe(int fd)
{
    json::object facts;
    facts["identity"] = identity_facts();
    facts["namespaces"] = namespace_facts();
    facts["root_read_only"] = cannot_write_to("") && cannot_write_to("/usr") && cannot_write_to("/etc");
    facts["network"] = network_facts();
    facts["seccomp_mode"] = ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
    facts["refused"] = refusal_facts();
    facts["landlock_levels"] = landlock_levels_left();
    const unique_fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    facts["makes_no_local_socket"] = !socket;
    facts["outside_socket_refused"] = cannot_reach_outside(socket);
    facts["capabilities"] = capability_facts();
    facts["no_new_privs"] = ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
    facts["limits"] = limit_facts();
    facts["forks"] = fork_facts();
    facts["core_limit_stays"] = limit_stays();
    facts["crash_leaves_no_core"] = crash_leaves_none();
    facts["first_process_closed"] = cannot_read("/proc/1/mem") && cannot_read("/proc/1/environ");
    facts["proc"] = proc_facts();
    facts["apparmor"] = apparmor_profile();
    add_device_of_programs(facts);
    write_all(fd, json::serialize(facts));
}

unique_fd make_outside_socket()
{
    unique_fd listener(check(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "make the probe's socket"));
    const local_address at = outside_socket_address();
    check(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at.address), at.length), "make the probe's socket");
    check(::listen(listener.get(), 1), "make the probe's socket");
    return listener;
}

json::object launcher_facts()
{
    json::object facts;
    facts["namespaces"] = namespace_facts();
    facts["uid"] = ::geteuid();
    facts["landlock_abi"] = landlock_abi();
    facts["landlock_levels"] = landlock_levels_left();
    add_device_of_programs(facts);
    return facts;
}

}  // namespace cmcp::sandbox
