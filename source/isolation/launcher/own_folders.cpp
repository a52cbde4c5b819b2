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

// proc_pid_mountinfo(5): the fifth field is the place, with \040 for a space; such places are left to the overlay.
std::vector<std::string> mounts_below(const std::string& folder)
{
    std::vector<std::string> places;
    std::ifstream mounts("/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) {
        std::istringstream fields(line);
        std::string place;
        for (int field = 0; field != 5; ++field) fields >> place;
        if (is_below(place, folder) && place.find('\\') == std::string::npos) places.push_back(place);
    }
    return places;
}

// A mount below the folder is no part of the overlay, so the mount is shown upon it as it is.
void show_mounts_below(const std::string& folder, const std::string& place)
{
    for (const auto& mount : mounts_below(folder)) {
        const auto tree = copy_mount_tree(AT_FDCWD, mount, "show " + mount);
        attach_mount(tree.get(), AT_FDCWD, place + mount.substr(folder.size()), "show " + mount);
    }
}

}  // namespace

own_folders::own_folders(std::string place) : place_(std::move(place))
{
    for (const std::string& folder : {place_, place_ + "/empty"})
        check(::mkdir(folder.c_str(), 0755), "prepare the machine's folders");
}

own_folders::~own_folders()
{
    for (const auto& [folder, place] : overlays_) {
        detach_mounts(place);
        ::rmdir(place.c_str());
    }
    ::rmdir((place_ + "/empty").c_str());
    ::rmdir(place_.c_str());
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
    std::string place = place_ + "/" + std::to_string(overlays_.size());
    check(::mkdir(place.c_str(), 0755), "prepare the machine's folders");
    const auto overlay = new_overlay({folder, place_ + "/empty"}, "show " + folder);
    attach_mount(overlay.get(), AT_FDCWD, place, "show " + folder);
    show_mounts_below(folder, place);
    return place;
}

bool own_folders::possible(const std::string& place)
try {
    own_folders(place).source_of(std::string(programs));
    return true;
} catch (const step_failed&) {
    return false;
}

}  // namespace cmcp::sandbox
