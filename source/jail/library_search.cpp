#include "jail/library_search.hpp"

#include "jail/elf_needed.hpp"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace cmcp::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr int include_depth_max = 8;

std::vector<std::string> expand(const std::string& pattern)
{
    glob_t matches{};
    std::unique_ptr<glob_t, decltype(&::globfree)> owner(&matches, &::globfree);
    if (::glob(pattern.c_str(), 0, nullptr, &matches) != 0) return {};
    return {matches.gl_pathv, matches.gl_pathv + matches.gl_pathc};
}

void read_config(const std::string& path, std::vector<std::string>& folders, int depth)
{
    if (depth == include_depth_max) return;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line.substr(0, line.find('#')));
        std::string first, second;
        words >> first >> second;
        if (first.starts_with('/')) folders.push_back(first);
        if (first != "include") continue;
        if (!second.starts_with('/')) second = "/etc/" + second;
        for (const std::string& included : expand(second)) read_config(included, folders, depth + 1);
    }
}

// Folders that are built into the loaders of Debian and of the other distributions.
std::vector<std::string> built_in_folders()
{
#if defined(__aarch64__)
    const std::string triplet = "aarch64-linux-gnu";
#else
    const std::string triplet = "x86_64-linux-gnu";
#endif
    return {"/usr/lib/" + triplet, "/lib/" + triplet, "/usr/lib64", "/lib64", "/usr/lib", "/lib"};
}

bool fits(const fs::path& file, std::uint16_t machine)
{
    std::error_code ignored;
    if (!fs::is_regular_file(file, ignored)) return false;
    try {
        auto elf = read_elf_needed(file.string());
        return elf && elf->machine == machine;
    } catch (const std::runtime_error&) {
        return false;  // the loader skips such a file too, and looks further
    }
}

}  // namespace

library_search::library_search()
{
    read_config("/etc/ld.so.conf", folders_, 0);
    for (const std::string& folder : built_in_folders()) folders_.push_back(folder);
    std::erase_if(folders_, [](const std::string& folder) { return !fs::is_directory(folder); });
}

std::optional<std::string> library_search::find(const std::string& name, std::uint16_t machine,
                                                const std::vector<std::string>& search_path) const
{
    if (name.starts_with('/')) return fits(name, machine) ? std::optional(name) : std::nullopt;
    for (const auto* list : {&search_path, &folders_})
        for (const std::string& folder : *list)
            if (fits(fs::path(folder) / name, machine)) return (fs::path(folder) / name).string();
    return std::nullopt;
}

}  // namespace cmcp::sandbox
