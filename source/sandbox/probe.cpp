#include "sandbox/probe.hpp"

#include "sandbox/landlock.hpp"
#include "sandbox/probe_facts.hpp"

#include <dirent.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>

namespace cmcp::sandbox {
namespace {

constexpr int possible_capabilities = 64;

// Counted rather than copied: what matters is that none is left.
json::object capability_facts()
{
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
    ::syscall(SYS_capget, &header, sets);
    int held = 0, bounding = 0, ambient = 0;
    for (const auto& s : sets) held += __builtin_popcount(s.effective | s.permitted | s.inheritable);
    for (int c = 0; c != possible_capabilities; ++c) {
        bounding += ::prctl(PR_CAPBSET_READ, c, 0, 0, 0) == 1;
        ambient += ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, c, 0, 0) == 1;
    }
    return {{"held", held}, {"bounding", bounding}, {"ambient", ambient}};
}

// True when nothing could be made there. What was made is removed again.
bool cannot_write_to(const char* folder)
{
    const std::string path = std::string(folder) + "/.container-mcp-probe";
    if (::mkdir(path.c_str(), 0700) != 0) return true;
    ::rmdir(path.c_str());
    return false;
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
    json::object facts{{"there", there}};
    facts["own"] = there && std::string(self) == std::to_string(::getpid());
    facts["processes"] = processes_shown();
    facts["system_settings"] = ::access("/proc/sys", F_OK) == 0 || ::access("/proc/sysrq-trigger", F_OK) == 0;
    return facts;
}

std::string first_line(const char* path)
{
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    if (const auto end = line.find('\0'); end != std::string::npos) line.resize(end);
    return line;
}

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

void write_all(int fd, std::string_view text)
{
    while (!text.empty()) {
        const ssize_t written = ::write(fd, text.data(), text.size());
        if (written < 0 && errno != EINTR) return;
        if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    }
}

}  // namespace

void report_probe(int fd)
{
    json::object facts;
    facts["identity"] = identity_facts();
    facts["namespaces"] = namespace_facts();
    facts["no_new_privs"] = ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
    facts["seccomp_mode"] = ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
    facts["refused"] = refusal_facts();
    facts["capabilities"] = capability_facts();
    facts["network"] = network_facts();
    facts["limits"] = limit_facts();
    facts["proc"] = proc_facts();
    facts["root_read_only"] = cannot_write_to("") && cannot_write_to("/usr") && cannot_write_to("/etc");
    facts["apparmor"] = first_line("/proc/self/attr/current");
    facts["landlock_levels"] = landlock_levels_left();
    write_all(fd, json::serialize(facts));
}

json::object launcher_facts()
{
    json::object facts;
    facts["namespaces"] = namespace_facts();
    facts["uid"] = ::geteuid();
    facts["landlock_abi"] = landlock_abi();
    facts["landlock_levels"] = landlock_levels_left();
    return facts;
}

}  // namespace cmcp::sandbox
