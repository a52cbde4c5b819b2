#include "files/trees.hpp"

#include "files/folder_reader.hpp"
#include "posix/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <limits>
#include <set>
#include <string_view>

namespace cmcp {

namespace {

constexpr std::size_t most_entries = 100'000;
constexpr std::size_t most_measured = 5'000'000;
constexpr std::size_t deepest_scan = 128;  // levels that are compared
constexpr std::array<std::string_view, 6> left_out{".local",  ".cache",      ".outputs",
                                                   ".config", "__pycache__", "node_modules"};

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000ll + time.tv_nsec; }

constexpr std::size_t most_open = 64;  // folders on the way down; those above are opened again by ".."

struct file_id {
    explicit file_id(const struct stat& of) : device(of.st_dev), inode(of.st_ino) {}
    bool operator==(const file_id&) const = default;

    dev_t device;
    ino_t inode;
};

/// Calls `see` with every entry below a folder; goes into a folder when `see` says so, with a bounded number of
/// descriptors and without recursion, however deep that is.
class tree_walk {
public:
    using visitor = std::function<bool(const std::string& path, const std::string& name, const struct stat& status)>;

    tree_walk(std::size_t most, std::size_t deepest, visitor see) : left_(most), deepest_(deepest), see_(std::move(see))
    {
    }

    void run(const std::filesystem::path& folder)
    {
        enter(AT_FDCWD, folder.c_str(), {});
        while (!way_.empty()) {
            level& last = way_.back();
            if (last.inner.empty()) {
                leave();
                continue;
            }
            const std::string name = std::move(last.inner.back());
            last.inner.pop_back();
            enter(last.folder.get(), name.c_str(), name);
        }
    }

    /// Not all was seen: there are too many entries or levels, a folder cannot be read, or one was moved meanwhile.
    bool cut() const { return cut_; }

private:
    struct level {
        unique_fd folder;  // closed while the walk is far below
        file_id id;
        std::size_t path;  // length of the path of what is above
        std::vector<std::string> inner;
    };

    void enter(int above, const char* name, const std::string& shown)
    {
        unique_fd opened = open_folder_with_rights(above, name);
        if (!opened) {
            cut_ = cut_ || (errno != ENOENT && errno != ENOTDIR && errno != ELOOP);
            return;
        }
        const std::size_t length = path_.size();
        if (!shown.empty()) path_ += (path_.empty() ? "" : "/") + shown;
        folder_reader reader(std::move(opened));
        std::vector<std::string> inner = look(reader);
        struct stat status {};
        if (inner.empty() || ::fstat(reader.descriptor(), &status) != 0) {
            path_.resize(length);
            return;
        }
        way_.push_back({reader.again(), file_id(status), length, std::move(inner)});
        if (way_.size() > most_open) way_[way_.size() - most_open - 1].folder.reset();
    }

    std::vector<std::string> look(folder_reader& reader)
    {
        std::vector<std::string> inner;
        const std::size_t length = path_.size();
        for (auto& item : reader.read_all(left_)) {
            --left_;
            struct stat status {};
            if (::fstatat(reader.descriptor(), item.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
            path_ += (path_.empty() ? "" : "/") + item.name;
            const bool into = see_(path_, item.name, status) && S_ISDIR(status.st_mode);
            path_.resize(length);
            if (into) inner.push_back(std::move(item.name));
        }
        cut_ = cut_ || left_ == 0 || (!inner.empty() && way_.size() >= deepest_);
        if (way_.size() >= deepest_) inner.clear();
        return inner;
    }

    // A folder that was moved while the walk was below it has another ".."; its entries would be those of strangers.
    void leave()
    {
        const level last = std::move(way_.back());
        way_.pop_back();
        path_.resize(last.path);
        if (way_.empty() || way_.back().folder) return;
        level& above = way_.back();
        above.folder.reset(::openat(last.folder.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
        struct stat status {};
        if (above.folder && ::fstat(above.folder.get(), &status) == 0 && file_id(status) == above.id) return;
        cut_ = true;
        way_.clear();
    }

    std::size_t left_;
    std::size_t deepest_;
    visitor see_;
    std::vector<level> way_;  // from the first folder to the one that is looked at
    std::string path_;        // of the last of them
    bool cut_ = false;
};

}  // namespace

tree_scan scan_tree(const std::filesystem::path& workspace)
{
    tree_scan scan;
    tree_walk walk(most_entries, deepest_scan,
                   [&](const std::string& path, const std::string& name, const struct stat& status) {
                       if (std::find(left_out.begin(), left_out.end(), name) != left_out.end()) return false;
                       if (!S_ISREG(status.st_mode)) return true;
                       scan.files[path] = {status.st_ino, static_cast<std::uint64_t>(status.st_size),
                                           nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
                       return true;
                   });
    walk.run(workspace);
    scan.cut = walk.cut();
    return scan;
}

std::vector<std::string> changed_files(const tree_scan& before, const tree_scan& after, std::size_t most)
{
    std::vector<std::pair<std::int64_t, std::string>> changed;
    for (const auto& [path, now] : after.files) {
        const auto then = before.files.find(path);
        if (then == before.files.end() || then->second != now) changed.emplace_back(-now.changed, path);
    }
    std::sort(changed.begin(), changed.end());
    if (changed.size() > most) changed.resize(most);
    std::vector<std::string> paths;
    for (auto& [when, path] : changed) paths.push_back(std::move(path));
    std::sort(paths.begin(), paths.end());
    return paths;
}

std::uint64_t disk_usage(const std::filesystem::path& folder)
{
    std::uint64_t bytes = 0;
    std::set<std::pair<dev_t, ino_t>> linked;
    tree_walk walk(most_measured, std::numeric_limits<std::size_t>::max(),
                   [&](const std::string&, const std::string&, const struct stat& status) {
                       const bool again = status.st_nlink > 1 && !S_ISDIR(status.st_mode) &&
                                          !linked.emplace(status.st_dev, status.st_ino).second;
                       if (!again) bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
                       return true;
                   });
    walk.run(folder);
    return walk.cut() ? unmeasured : bytes;
}

}  // namespace cmcp
