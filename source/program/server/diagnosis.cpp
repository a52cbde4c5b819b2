#include "server/diagnosis.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <string_view>

namespace cmcp::command {

namespace {

using state = sandbox::layer::state;

// Services stand in the report beside the layers, though they confine no program.
constexpr std::array<std::string_view, 4> services{"python_zygote", "helpers", "browser", "images"};

bool holds_name(const auto& names, const std::string& name)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_service(const sandbox::layer& each) { return holds_name(services, each.name); }

struct remedy {
    std::string command;    // for a shell, as root where it must be; empty: none is known
    bool optional = false;  // nothing is wrong: something is not installed, or not built
};

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

// The command for the switch that forbids namespaces on this machine.
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
                              "user namespace", "max_user_namespaces", "has no mounts of its own"})
        if (detail.find(words) != std::string_view::npos) return true;
    return false;
}

// The remedy of a layer that is off or degraded, by its detail and by the settings of the kernel.
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

// The reader of the diagnosis has run doctor, and sees the command below the cause.
std::string bare_cause(std::string cause, const std::string& command)
{
    if (!command.empty() && cause.ends_with(": " + command)) cause.resize(cause.size() - command.size() - 2);
    cause.erase(std::min(cause.size(), cause.find(" Run `container-mcp doctor`")));
    return cause;
}

// Adds the layer to a finding with the same cause or command. False when there is none.
bool joins(std::vector<finding>& findings, const finding& one)
{
    const auto same = [&](const finding& each) {
        return each.cause == one.cause || (!one.command.empty() && each.command == one.command);
    };
    const auto at = std::find_if(findings.begin(), findings.end(), same);
    if (at != findings.end()) at->layers.push_back(one.layers.front());
    return at != findings.end();
}

}  // namespace

diagnosis diagnose(const sandbox::layers& layers, const std::vector<std::string>& required)
{
    diagnosis result;
    std::vector<finding> others;
    const auto blamed = sandbox::blamed(layers, required);
    for (const auto& each : layers) {
        if (each.is == state::not_asked) continue;
        if (!is_service(each)) ++result.total;
        if (each.is == state::on && !is_service(each)) ++result.on;
        if (each.is == state::on) continue;
        const remedy cure = remedy_of(each);
        const bool needed =
            holds_name(blamed, each.name) || (is_service(each) && each.is == state::off && !cure.optional);
        finding one{{each.name}, bare_cause(each.detail, cure.command), cure.command};
        if (!needed)
            others.push_back(std::move(one));
        else if (!joins(result.problems, one))
            result.problems.push_back(std::move(one));
    }
    for (auto& one : others)
        if (!joins(result.problems, one) && !joins(result.remarks, one)) result.remarks.push_back(std::move(one));
    return result;
}

std::string sentences_of(const std::vector<finding>& findings)
{
    std::string text;
    for (const auto& each : findings) {
        text += (text.empty() ? "" : " ") + each.cause;
        if (!each.command.empty()) text += " This mends it: " + each.command;
    }
    return text;
}

}  // namespace cmcp::command
