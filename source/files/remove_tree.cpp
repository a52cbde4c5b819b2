#include "files/trees.hpp"

#include "files/folder_reader.hpp"
#include "posix/unique_fd.hpp"

#include <fcntl.h>

#include <cerrno>
#include <string>

namespace cmcp {

namespace {

bool move_to_free_name(int folder, const std::string& name, int top, std::size_t& counter)
{
    int failed = 0;
    do {
        const std::string moved = ".removed-" + std::to_string(++counter);
        failed = ::renameat2(folder, name.c_str(), top, moved.c_str(), RENAME_NOREPLACE);
    } while (failed != 0 && errno == EEXIST);
    return failed == 0;
}

/// Removes the files of a folder and moves its folders up into `top`, under names that are free there.
bool empty_into(int top, int folder, std::size_t& counter)
{
    bool all_gone = true;
    folder_reader reader(open_folder(folder, "."));
    for (const auto& item : reader.read_all()) {
        if (::unlinkat(folder, item.name.c_str(), 0) == 0 || errno == ENOENT) continue;
        if (::unlinkat(folder, item.name.c_str(), AT_REMOVEDIR) == 0) continue;
        open_folder_with_rights(folder, item.name.c_str());  // for the rights: moving a folder changes its ".."
        all_gone = move_to_free_name(folder, item.name, top, counter) && all_gone;
    }
    return all_gone;
}

}  // namespace

bool remove_tree(const std::filesystem::path& folder)
{
    unique_fd top = open_folder_with_rights(AT_FDCWD, folder.c_str());
    if (!top) return errno == ENOENT;
    std::size_t counter = 0;
    // Each round takes one level off every folder that is left, so there is no recursion and no path too long.
    for (bool progress = true; progress;) {
        progress = false;
        folder_reader reader(open_folder(top.get(), "."));
        for (const auto& item : reader.read_all()) {
            if (::unlinkat(top.get(), item.name.c_str(), 0) == 0) {
                progress = true;
                continue;
            }
            unique_fd inner = open_folder_with_rights(top.get(), item.name.c_str());
            if (!inner || !empty_into(top.get(), inner.get(), counter)) continue;
            if (::unlinkat(top.get(), item.name.c_str(), AT_REMOVEDIR) == 0) progress = true;
        }
    }
    return ::rmdir(folder.c_str()) == 0;
}

}  // namespace cmcp
