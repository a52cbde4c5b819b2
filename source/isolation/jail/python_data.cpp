#include "jail/python_data.hpp"

#include <filesystem>
#include <set>

namespace cmcp::sandbox {
namespace {

namespace fs = std::filesystem;

void add_data_folder(std::set<std::string>& folders, const fs::path& folder)
{
    std::error_code absent;
    if (fs::is_directory(folder, absent)) folders.insert(folder.string());
}

// /usr/share/javascript of /usr/share/javascript/jquery/jquery.js; a file that lies in `share` itself has no folder.
void add_folder_of_target(std::set<std::string>& folders, const fs::path& link, const fs::path& share)
{
    std::error_code broken;
    const fs::path target = fs::canonical(link, broken);
    if (broken) return;
    const fs::path within = target.lexically_relative(share);
    if (within.empty() || *within.begin() == ".." || *within.begin() == ".") return;
    add_data_folder(folders, share / *within.begin());
}

}  // namespace

std::vector<std::string> python_data_folders(const std::string& modules, const std::string& share)
{
    std::set<std::string> folders;
    std::error_code ended;
    const auto options = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator at(modules, options, ended), end; !ended && at != end; at.increment(ended)) {
        std::error_code gone;
        if (at->is_symlink(gone))
            add_folder_of_target(folders, at->path(), share);
        else if (at.depth() == 0 && at->is_directory(gone))
            for (const char* prefix : {"", "python-", "python3-"})
                add_data_folder(folders, fs::path(share) / (prefix + at->path().filename().string()));
    }
    return {folders.begin(), folders.end()};
}

}  // namespace cmcp::sandbox
