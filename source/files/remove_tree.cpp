#include "files/remove_tree.hpp"

#include "files/folder_reader.hpp"
#include "posix/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

namespace cmcp {

namespace {

constexpr int removal_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;

unique_fd open_folder(int at, const char* name)
{
    unique_fd opened(::openat(at, name, removal_flags));
    if (opened || errno != EACCES) return opened;
    // The owner took the rights away. Through the descriptor, so that a name swapped meanwhile is not followed.
    unique_fd handle(::openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!handle) return handle;
    ::chmod(("/proc/self/fd/" + std::to_string(handle.get())).c_str(), 0700);
    return unique_fd(::openat(at, name, removal_flags));
}

bool move_to_free_name(int folder, const std::string& name, int top, std::size_t& counter)
{
    int outcome = 0;
    do {
        const std::string moved = ".removed-" + std::to_string(++counter);
        outcome = ::renameat2(folder, name.c_str(), top, moved.c_str(), RENAME_NOREPLACE);
    } while (outcome != 0 && errno == EEXIST);
    return outcome == 0;
}

/// Removes the files of a folder and moves its folders up into `top`, under names that are free there.
bool empty_into(int top, int folder, std::size_t& counter)
{
    bool all_gone = true;
    folder_reader reader{unique_fd(::openat(folder, ".", removal_flags))};
    for (const auto& item : reader.read_all()) {
        if (::unlinkat(folder, item.name.c_str(), 0) == 0 || errno == ENOENT) continue;
        if (::unlinkat(folder, item.name.c_str(), AT_REMOVEDIR) == 0) continue;
        open_folder(folder, item.name.c_str());  // for the rights: moving a folder changes its ".."
        all_gone = move_to_free_name(folder, item.name, top, counter) && all_gone;
    }
    return all_gone;
}

}  // namespace

bool remove_tree(const std::filesystem::path& folder)
{
    unique_fd top = open_folder(AT_FDCWD, folder.c_str());
    if (!top) return errno == ENOENT;
    std::size_t counter = 0;
    // Each round takes one level off every folder that is left: no recursion, and no path that is too long.
    for (bool progress = true; progress;) {
        progress = false;
        folder_reader reader{unique_fd(::openat(top.get(), ".", removal_flags))};
        for (const auto& item : reader.read_all()) {
            if (::unlinkat(top.get(), item.name.c_str(), 0) == 0) {
                progress = true;
                continue;
            }
            unique_fd inner = open_folder(top.get(), item.name.c_str());
            if (!inner || !empty_into(top.get(), inner.get(), counter)) continue;
            if (::unlinkat(top.get(), item.name.c_str(), AT_REMOVEDIR) == 0) progress = true;
        }
    }
    return ::rmdir(folder.c_str()) == 0;
}

}  // namespace cmcp
