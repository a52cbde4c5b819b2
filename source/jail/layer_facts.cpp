#include "jail/apparmor.hpp"
#include "jail/outside_socket.hpp"
#include "jail/probe_facts.hpp"
#include "posix/child_process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <vector>

namespace cmcp::sandbox {
namespace {

// True when nothing could be made there. A file that could be made is removed again.
bool cannot_write_to(const char* folder)
{
    const std::string path = std::string(folder) + "/.container-mcp-probe";
    if (::mkdir(path.c_str(), 0700) != 0) return true;
    ::rmdir(path.c_str());
    return false;
}

void look_at_mount_namespace(json::object& facts)
{
    facts["root_read_only"] = cannot_write_to("") && cannot_write_to("/usr") && cannot_write_to("/etc");
}

void look_at_network_namespace(json::object& facts) { facts["network"] = network_facts(); }

void look_at_seccomp(json::object& facts)
{
    facts["seccomp_mode"] = ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
    facts["refused"] = refusal_facts();
}

void look_at_landlock(json::object& facts) { facts["landlock_levels"] = landlock_levels_left(); }

// The launcher's side has left a socket of that name there, made before the rules were in force.
bool is_kept_from_outside(const unique_fd& socket)
{
    const local_address to = outside_socket_address();
    const int result = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to.address), to.length);
    return result != 0 && errno == EPERM;
}

void look_at_landlock_scope(json::object& facts)
{
    const unique_fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    facts["makes_no_local_socket"] = !socket;
    facts["outside_socket_refused"] = is_kept_from_outside(socket);
}

constexpr int capability_numbers = 64;

// Counted rather than copied: what matters is that none is left.
void look_at_capabilities(json::object& facts)
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
    facts["capabilities"] = json::object{{"held", held}, {"bounding", bounding}, {"ambient", ambient}};
}

void look_at_no_new_privs(json::object& facts)
{
    facts["no_new_privs"] = ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

void look_at_rlimits(json::object& facts) { facts["limits"] = limit_facts(); }

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

void look_at_core_dumps(json::object& facts)
{
    facts["core_limit_stays"] = limit_stays();
    facts["crash_leaves_no_core"] = crash_leaves_none();
}

bool cannot_read(const char* path)
{
    const unique_fd file(::open(path, O_RDONLY | O_CLOEXEC));
    return !file;
}

void look_at_tracing(json::object& facts)
{
    facts["first_process_closed"] = cannot_read("/proc/1/mem") && cannot_read("/proc/1/environ");
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

void look_at_private_proc(json::object& facts)
{
    char self[32] = {};
    const bool there = ::readlink("/proc/self", self, sizeof self - 1) > 0;
    json::object proc{{"there", there}};
    proc["own"] = there && std::string(self) == std::to_string(::getpid());
    proc["processes"] = processes_shown();
    proc["system_settings"] = ::access("/proc/sys", R_OK) == 0 || ::access("/proc/sysrq-trigger", W_OK) == 0;
    proc["figures"] = ::access("/proc/meminfo", R_OK) == 0 && ::access("/proc/uptime", R_OK) == 0;
    facts["proc"] = std::move(proc);
}

void look_at_apparmor(json::object& facts) { facts["apparmor"] = apparmor_profile(); }

}  // namespace

void add_layer_facts(json::object& facts)
{
    constexpr void (*all[])(json::object&) = {
        look_at_mount_namespace, look_at_network_namespace, look_at_seccomp,      look_at_landlock,
        look_at_landlock_scope,  look_at_capabilities,      look_at_no_new_privs, look_at_rlimits,
        look_at_core_dumps,      look_at_tracing,           look_at_private_proc, look_at_apparmor,
    };
    for (const auto look : all) look(facts);
}

}  // namespace cmcp::sandbox
