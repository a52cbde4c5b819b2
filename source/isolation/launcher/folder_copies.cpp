#include "launcher/folder_copies.hpp"

#include "facilities/namespaces.hpp"
#include "facilities/setup_step.hpp"
#include "posix/child_process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string_view>

namespace cmcp::sandbox {

namespace {

constexpr const char* copy_step = "prepare a machine";
constexpr int as_folder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// A folder with two links has none below it, where file systems count them.
bool has_folders(int folder)
{
    struct stat status {};
    return ::fstat(folder, &status) == 0 && status.st_nlink != 2;
}

bool is_folder_below(const dirent& entry)
{
    const std::string_view name = entry.d_name;
    return entry.d_type == DT_DIR && name != "." && name != "..";
}

void make_copies(const std::vector<std::pair<unique_fd, unique_fd>>& all)
{
    std::vector<int> needed;
    for (const auto& [from, to] : all) needed.insert(needed.end(), {from.get(), to.get()});
    die_with_parent();
    close_all_but(needed);
    ::setpriority(PRIO_PROCESS, 0, 5);
    for (const auto& [from, to] : all) copy_folders(from.get(), to.get());
    ::_exit(0);
}

}  // namespace

void copy_folders(int from, int to)
{
    const int listed = ::openat(from, ".", as_folder);
    if (listed < 0) return;
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(listed), &::closedir);
    if (!entries) return;
    while (const dirent* const entry = ::readdir(entries.get())) {
        if (!is_folder_below(*entry)) continue;
        if (::mkdirat(to, entry->d_name, 0755) != 0 && errno != EEXIST) throw step_failed(copy_step);
        const unique_fd below(::openat(from, entry->d_name, as_folder));
        if (!below || !has_folders(below.get())) continue;
        const unique_fd copy(check(::openat(to, entry->d_name, as_folder), copy_step));
        copy_folders(below.get(), copy.get());
    }
}

folder_copies::folder_copies(std::vector<std::pair<unique_fd, unique_fd>> from_and_to)
{
    cloned child = clone_into_namespaces(0, -1);
    if (child.pid == 0) live_and_end([&] { make_copies(from_and_to); });
    process_ = std::move(child.pidfd);
}

bool folder_copies::take()
{
    const unique_fd ended = std::move(process_);
    return collect_process(ended.get()).si_status == 0;
}

folder_copies::~folder_copies()
{
    if (!process_) return;
    kill_process(process_.get());
    collect_process(process_.get());
}

}  // namespace cmcp::sandbox
