#include "facilities/apparmor.hpp"

#include "posix/child_process.hpp"
#include "posix/unique_fd.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace cmcp::sandbox {
namespace {

std::string first_line(const char* path)
{
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    if (const auto end = line.find('\0'); end != std::string::npos) line.resize(end);
    return line;
}

// Since Linux 5.8 each security module has its own folder; before, the first one had the only file.
unique_fd open_attribute(const std::string& name)
{
    unique_fd file(::open(("/proc/self/attr/apparmor/" + name).c_str(), O_WRONLY | O_CLOEXEC));
    if (!file && errno == ENOENT && apparmor_enabled())
        file.reset(::open(("/proc/self/attr/" + name).c_str(), O_WRONLY | O_CLOEXEC));
    return file;
}

int write_attribute(const std::string& name, const std::string& order)
{
    const unique_fd file = open_attribute(name);
    if (!file) return errno;
    return ::write(file.get(), order.data(), order.size()) == static_cast<ssize_t>(order.size()) ? 0 : errno;
}

}  // namespace

std::string apparmor_profile()
{
    for (const char* path : {"/proc/self/attr/apparmor/exec", "/proc/self/attr/apparmor/current"})
        if (std::string profile = first_line(path); !profile.empty()) return profile;
    return apparmor_enabled() ? first_line("/proc/self/attr/current") : std::string();
}

bool apparmor_enabled() { return first_line("/sys/module/apparmor/parameters/enabled") == "Y"; }

int enter_apparmor_at_exec(const std::string& profile) { return write_attribute("exec", "exec " + profile); }

int enter_apparmor(const std::string& profile) { return write_attribute("current", "changeprofile " + profile); }

int try_apparmor(const std::string& profile)
{
    const int status = in_forked_child([&] { return enter_apparmor_at_exec(profile); });
    return WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}

std::string find_no_apparmor()
{
    if (!apparmor_enabled()) return "the kernel has no AppArmor, or it is switched off";
    for (const char* program : {"bash", "python3"}) {
        const std::string profile = apparmor_profile_for(program);
        const int error = try_apparmor(profile);
        if (error == ENOENT)
            return "the profile " + profile + " is not loaded: apparmor_parser -r the files of container/apparmor";
        if (error != 0) return "the profile " + profile + " cannot be entered: " + std::strerror(error);
    }
    return {};
}

std::string apparmor_profile_for(const std::string& path)
{
    const auto name = path.substr(path.rfind('/') + 1);
    return name.starts_with("python") ? "container-mcp-python" : "container-mcp-bash";
}

}  // namespace cmcp::sandbox
