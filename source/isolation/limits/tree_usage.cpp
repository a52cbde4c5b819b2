#include "limits/tree_usage.hpp"

#include "facilities/namespaces.hpp"
#include "facilities/setup_step.hpp"
#include "limits/project_quota.hpp"
#include "posix/bytes.hpp"
#include "posix/child_process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

namespace cmcp::sandbox {
namespace {

constexpr std::uint64_t block = 512;  // of st_blocks, whatever the file system's own is

struct close_folder {
    void operator()(DIR* opened) const { ::closedir(opened); }
};
using open_folder = std::unique_ptr<DIR, close_folder>;

bool is_dots(std::string_view name) { return name == "." || name == ".."; }

/// A walk that keeps its way down as open folders: no path grows too long, and nothing renamed meanwhile leads astray.
class walk {
public:
    explicit walk(tree_bounds most, std::uint32_t project = 0) : most_(most), project_(project) {}

    tree_usage run(int folder)
    {
        struct stat status {};
        if (::fstat(folder, &status) != 0) return {0, 0, false, false};
        device_ = status.st_dev;
        enter(folder, ".");
        while (!way_.empty() && !exceeded()) step();
        found_.in_project = project_ != 0 && !exceeded() && put_into_project(folder, project_);
        return found_;
    }

private:
    bool exceeded() const { return found_.bytes > most_.bytes || found_.files > most_.files || !found_.complete; }

    void enter(int parent, const char* name)
    {
        unique_fd opened(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOATIME));
        if (!opened && errno == EPERM)
            opened.reset(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!opened) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) found_.complete = false;
            return;  // gone meanwhile, or not of the runs' making
        }
        open_folder folder(::fdopendir(opened.get()));
        if (!folder) {
            found_.complete = false;
            return;
        }
        opened.release();
        if (project_ != 0 && !way_.empty()) put_into_project(::dirfd(folder.get()), project_);
        way_.push_back(std::move(folder));
    }

    void step()
    {
        DIR* folder = way_.back().get();
        const dirent* entry = ::readdir(folder);
        if (entry == nullptr) return way_.pop_back();
        if (is_dots(entry->d_name)) return;
        struct stat status {};
        if (::fstatat(::dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0) return;
        if (status.st_dev != device_) return;
        add(status);
        if (S_ISDIR(status.st_mode)) return enter(::dirfd(folder), entry->d_name);
        if (project_ != 0 && S_ISREG(status.st_mode)) put_file_into_project(::dirfd(folder), entry->d_name);
    }

    void put_file_into_project(int parent, const char* name) const
    {
        const unique_fd file(::openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
        if (file) put_into_project(file.get(), project_);
    }

    void add(const struct stat& status)
    {
        const bool has_names = !S_ISDIR(status.st_mode) && status.st_nlink > 1;
        if (has_names && !named_.insert(status.st_ino).second) return;
        ++found_.files;
        found_.bytes += static_cast<std::uint64_t>(status.st_blocks) * block;
    }

    tree_bounds most_;
    std::uint32_t project_;
    tree_usage found_;
    dev_t device_ = 0;
    std::vector<open_folder> way_;
    std::set<ino_t> named_;
};

void count_for(int answer, int folder, tree_bounds most, std::uint32_t project)
{
    die_with_parent();
    close_all_but({folder, answer});
    ::setpriority(PRIO_PROCESS, 0, 5);
    rlimit open_files{};
    ::getrlimit(RLIMIT_NOFILE, &open_files);
    open_files.rlim_cur = open_files.rlim_max;  // one a level
    ::setrlimit(RLIMIT_NOFILE, &open_files);
    const tree_usage usage = walk(most, project).run(folder);
    check(::write(answer, &usage, sizeof usage), "tell the count");
}

}  // namespace

tree_usage count_tree(int folder, tree_bounds most) { return walk(most).run(folder); }

tree_count::tree_count(int folder, tree_bounds most, std::uint32_t project)
{
    unique_fd theirs;
    std::tie(answer_, theirs) = make_pipe(O_NONBLOCK);
    check(answer_.get(), "count the workspace");
    cloned child = clone_into_namespaces(0, -1);
    if (child.pid == 0) live_and_end([&] { count_for(theirs.get(), folder, most, project); });
    process_ = std::move(child.pidfd);
}

tree_count::~tree_count()
{
    if (!process_) return;
    kill_process(process_.get());
    collect_process(process_.get());
}

tree_usage tree_count::take() const
{
    tree_usage usage;
    if (::read(answer_.get(), &usage, sizeof usage) == sizeof usage) return usage;
    return {0, 0, false, false};
}

}  // namespace cmcp::sandbox
