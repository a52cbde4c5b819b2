#include "engine/workspace_files.hpp"

#include "jail/tree_usage.hpp"
#include "posix/unique_fd.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>

namespace cmcp::engine {
namespace {

constexpr int deepest = 200;  // one descriptor a level

struct close_folder {
    void operator()(DIR* opened) const { ::closedir(opened); }
};

struct giver {
    uid_t from;
    uid_t to;
    dev_t device;

    void give(int folder, const char* name, const struct stat& status) const
    {
        // A file that cannot be given away stays the server's; the program in the container is refused it.
        if (status.st_uid != from || ::fchownat(folder, name, to, to, AT_SYMLINK_NOFOLLOW) != 0) return;
    }

    void walk(unique_fd folder, int depth) const
    {
        const std::unique_ptr<DIR, close_folder> opened(::fdopendir(folder.get()));
        if (!opened) return;
        const int here = folder.release();  // closed with `opened`
        while (const dirent* entry = ::readdir(opened.get())) {
            const std::string_view name = entry->d_name;
            struct stat status {};
            if (name == "." || name == ".." || ::fstatat(here, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
                continue;
            give(here, entry->d_name, status);
            if (!S_ISDIR(status.st_mode) || status.st_dev != device || depth == deepest) continue;
            unique_fd inner(::openat(here, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
            if (inner) walk(std::move(inner), depth + 1);
        }
    }
};

unique_fd open_folder(const std::string& folder)
{
    unique_fd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!opened) throw std::system_error(errno, std::generic_category(), folder);
    return opened;
}

}  // namespace

void give_files(const std::string& folder, uid_t owner)
{
    unique_fd opened = open_folder(folder);
    struct stat status {};
    const bool known = ::fstat(opened.get(), &status) == 0;
    const uid_t self = ::geteuid();
    if (!known || (status.st_uid == self && ::fchown(opened.get(), owner, owner) != 0))
        throw std::system_error(errno, std::generic_category(), folder);
    giver{self, owner, status.st_dev}.walk(std::move(opened), 0);
}

std::string workspace_excess(const std::string& folder, const sandbox::run_limits& limits)
{
    if (limits.workspace_size == 0 && limits.workspace_files == 0) return {};
    const unique_fd opened = open_folder(folder);
    const std::uint64_t size = limits.workspace_size != 0 ? limits.workspace_size : UINT64_MAX;
    const std::uint64_t files = limits.workspace_files != 0 ? limits.workspace_files : UINT64_MAX;
    const auto usage = sandbox::count_tree(opened.get(), {size, files});
    const std::string rest = " Delete what is not needed any more.";
    if (usage.bytes > size)
        return "the workspace holds more than the limit of " + std::to_string(size >> 20) +
               " MiB (SANDBOX_WORKSPACE_MAX_MB)." + rest;
    if (usage.files > files)
        return "the workspace holds more files than the limit of " + std::to_string(files) +
               " (SANDBOX_WORKSPACE_MAX_FILES)." + rest;
    return usage.complete ? std::string() : "the folders of the workspace are nested too deeply to be counted." + rest;
}

}  // namespace cmcp::engine
