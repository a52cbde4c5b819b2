#include "launcher/own_folders.hpp"

#include "facilities/mounts.hpp"
#include "facilities/setup_step.hpp"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

namespace cmcp::sandbox {
namespace {

constexpr std::string_view programs = "/usr";

bool is_below(std::string_view path, std::string_view folder)
{
    return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

// proc_pid_mountinfo(5): the fifth field is the mount point, with \040 for a space; such ones are left to the overlay.
std::vector<std::string> mounts_below(const std::string& folder)
{
    std::vector<std::string> mount_points;
    std::ifstream mounts("/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) {
        std::istringstream fields(line);
        std::string mount_point;
        for (int field = 0; field != 5; ++field) fields >> mount_point;
        if (is_below(mount_point, folder) && mount_point.find('\\') == std::string::npos)
            mount_points.push_back(mount_point);
    }
    return mount_points;
}

// A mount below the folder is no part of the overlay, so the mount is shown upon it as it is.
void show_mounts_below(const std::string& folder, const std::string& target)
{
    for (const auto& mount : mounts_below(folder)) {
        const auto tree = copy_mount_tree(AT_FDCWD, mount, "show " + mount);
        attach_mount(tree.get(), AT_FDCWD, target + mount.substr(folder.size()), "show " + mount);
    }
}

}  // namespace

own_folders::own_folders(std::string base) : base_(std::move(base))
{
    for (const std::string& folder : {base_, base_ + "/empty"})
        check(::mkdir(folder.c_str(), 0755), "prepare the machine's folders");
}

own_folders::~own_folders()
{
    for (const auto& [folder, mount_point] : overlays_) {
        detach_mounts(mount_point);
        ::rmdir(mount_point.c_str());
    }
    ::rmdir((base_ + "/empty").c_str());
    ::rmdir(base_.c_str());
}

std::string own_folders::source_of(const std::string& path)
{
    const bool is_program = path == programs || is_below(path, programs);
    if (!is_program && !std::filesystem::is_directory(path)) return path;
    const std::string folder(is_program ? std::string(programs) : path);
    auto known = overlays_.find(folder);
    if (known == overlays_.end()) known = overlays_.emplace(folder, mounted(folder)).first;
    return known->second + path.substr(folder.size());
}

std::string own_folders::mounted(const std::string& folder)
{
    std::string mount_point = base_ + "/" + std::to_string(overlays_.size());
    check(::mkdir(mount_point.c_str(), 0755), "prepare the machine's folders");
    const auto overlay = new_overlay({folder, base_ + "/empty"}, "show " + folder);
    attach_mount(overlay.get(), AT_FDCWD, mount_point, "show " + folder);
    show_mounts_below(folder, mount_point);
    return mount_point;
}

bool own_folders::possible(const std::string& base)
try {
    own_folders(base).source_of(std::string(programs));
    return true;
} catch (const step_failed&) {
    return false;
}

}  // namespace cmcp::sandbox
