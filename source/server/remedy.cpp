#include "server/remedy.hpp"

#include <fstream>
#include <optional>
#include <string_view>

namespace cmcp::command {

namespace {

struct known_cause {
    std::string_view words;  // in the detail
    std::string_view command;
    bool optional;
};

constexpr known_cause known_causes[] = {
    {"needs Chromium, which is not installed", "apt-get install -y chromium", true},
    {"built without libpython",
     "apt-get install -y libpython3-dev && cmake build/release && cmake --build build/release --target programs", true},
    {"is not beside the launcher", "cmake --build build/release --target programs", true},
    {"beside container-mcp-launcher: build or install it", "cmake --build build/release --target programs", false},
    {"install Debian's package firejail", "apt-get install -y firejail", false},
};

std::optional<long> kernel_setting(const std::string& path)
{
    std::ifstream file("/proc/sys/" + path);
    long value = 0;
    if (file >> value) return value;
    return std::nullopt;
}

// Of the switches that forbid namespaces, the one that does it here.
std::string command_for_namespaces()
{
    for (const char* kind : {"user", "pid", "mnt", "net", "ipc", "uts", "cgroup", "time"}) {
        const std::string name = std::string("max_") + kind + "_namespaces";
        if (kernel_setting("user/" + name) == 0) return "sysctl -w user." + name + "=63000";
    }
    if (kernel_setting("kernel/unprivileged_userns_clone") == 0) return "sysctl -w kernel.unprivileged_userns_clone=1";
    if (kernel_setting("kernel/apparmor_restrict_unprivileged_userns") == 1)
        return "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0";
    return {};
}

bool about_namespaces(std::string_view detail)
{
    for (const char* words : {"step \"clone\"", "step \"user namespace\"", "amespaces are not permitted",
                              "user namespace", "max_user_namespaces"})
        if (detail.find(words) != std::string_view::npos) return true;
    return false;
}

}  // namespace

remedy remedy_of(const sandbox::layer& lacking)
{
    for (const auto& each : known_causes)
        if (lacking.detail.find(each.words) != std::string::npos) return {std::string(each.command), each.optional};
    constexpr std::string_view installs = ": apt-get install ";
    if (const auto at = lacking.detail.rfind(installs); at != std::string::npos)
        return {lacking.detail.substr(at + 2), true};
    if (about_namespaces(lacking.detail)) return {command_for_namespaces(), false};
    return {};
}

}  // namespace cmcp::command
