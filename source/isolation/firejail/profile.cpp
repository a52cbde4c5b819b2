#include "firejail/profile.hpp"

#include "facilities/setup_step.hpp"
#include "jail/system_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

namespace cmcp::sandbox {
namespace {

namespace fs = std::filesystem;

// Firejail empties a folder in which something is to be seen: also where that does not exist.
constexpr std::string_view nothing = "/.container-mcp-nothing";
constexpr std::string_view always =
    "net none\nseccomp\nprotocol unix,inet,inet6,netlink\nipc-namespace\nnonewprivs\nnogroups\n"
    "hostname sandbox\nprivate-dev\nblacklist /dev/ptmx\nblacklist /dev/pts\nblacklist /sys\n";
// Nothing of the root folder is its own; and a read-only mount over it would keep the kernel from making the user
// namespace.
constexpr std::string_view of_a_user = "noroot\ncaps.drop all\nread-only ${HOME}\n";
constexpr std::string_view of_root =
    "read-only /\ncaps.keep setuid,setgid,setpcap\n";  // given up inside, before anything is executed

bool is_one_of(const std::string& path, std::initializer_list<std::string_view> names)
{
    return std::find(names.begin(), names.end(), path) != names.end();
}

bool is_program_folder(const std::string& path)
{
    return path == "/usr" || std::find(system_folders.begin(), system_folders.end(), path) != system_folders.end();
}

void show(std::string& text, const std::string& path) { text += "whitelist " + path + '\n'; }

void hide_entries(std::string& text, const std::string& folder, bool all_programs)
{
    for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string path = entry.path().string();
        if (entry.is_symlink() || is_one_of(path, {"/proc", "/sys", "/dev"})) continue;
        if (is_program_folder(path) && (all_programs || path == "/usr")) continue;
        if (entry.is_directory())
            show(text, path + std::string(nothing));
        else
            text += "blacklist " + path + '\n';
    }
}

// A /proc of processes only would not have these entries.
void hide_kernel_settings(std::string& text)
{
    for (const auto& entry : fs::directory_iterator("/proc")) {
        const std::string name = entry.path().filename().string();
        const bool process = name.find_first_not_of("0123456789") == std::string::npos;
        if (!process && !entry.is_symlink()) text += "blacklist " + entry.path().string() + '\n';
    }
}

void show_etc(std::string& text, const firejail_shape& shape)
{
    for (const auto& path : files_of_etc()) show(text, path);
    for (const char* path : {"/etc/nsswitch.conf", "/etc/hosts"}) show(text, path);  // not the accounts of the machine
    text += "hosts-file " + shape.hosts + '\n';
    if (!shape.all_programs) return;
    for (const auto& path : folders_of_etc()) show(text, path);
}

void show_files(std::string& text, const view_files& files)
{
    for (const auto& [path, target] : files.links)
        if (path.find('/', 1) != std::string::npos) show(text, path);  // those in the root folder are there already
    for (const auto& path : files.directories) show(text, path);
    for (const auto& path : files.libraries) show(text, path);
}

void show_programs(std::string& text, const firejail_shape& shape)
{
    show_files(text, shape.launcher);
    show_files(text, shape.files);
    for (const auto& path : shape.files.programs) show(text, path);
    for (const char* path : {"/tmp", "/dev/shm"}) text += std::string("noexec ") + path + '\n';
    if (!shape.as_root) text += "noexec ${HOME}\n";
}

bool is_plain(char c)
{
    constexpr std::string_view others = "/._-+@,=~ ";
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           others.find(c) != std::string_view::npos;
}

}  // namespace

std::string firejail_profile(const firejail_shape& shape)
{
    std::string text(always);
    text += shape.as_root ? of_root : of_a_user;
    hide_entries(text, "/", shape.all_programs);
    hide_kernel_settings(text);
    if (!shape.all_programs) hide_entries(text, "/usr", false);
    show_etc(text, shape);
    if (!shape.all_programs) show_programs(text, shape);
    return text;
}

std::vector<std::string> workspace_options(const std::string& workspace, bool may_execute)
{
    const bool plain =
        std::all_of(workspace.begin(), workspace.end(), is_plain) && workspace.find("..") == std::string::npos;
    if (!plain) throw step_failed("Firejail: show the folder " + workspace, EINVAL);
    std::vector<std::string> options{"--whitelist=" + workspace, "--read-write=" + workspace};
    if (!may_execute) options.push_back("--noexec=" + workspace);
    return options;
}

}  // namespace cmcp::sandbox
