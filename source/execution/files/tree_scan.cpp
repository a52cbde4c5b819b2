#include "files/trees.hpp"

#include "files/file_id.hpp"
#include "files/folder_reader.hpp"
#include "posix/unique_fd.hpp"
#include "text/folder_names.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t most_entries = 100'000;
constexpr std::size_t most_measured = 5'000'000;
constexpr std::size_t deepest_scan = 128;  // levels that are compared

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000ll + time.tv_nsec; }

// A folder of another user below which nothing can be reached: no run has filled it.
bool is_closed_strangers(int above, const char* name)
{
    struct stat status {};
    return ::fstatat(above, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_uid != ::geteuid() &&
           ::faccessat(above, name, X_OK, AT_EACCESS) != 0;
}

constexpr std::size_t most_open = 64;  // folders on the way down; those above are opened again by ".."

/// Shows every entry below a folder, entry by entry; goes into a folder when the visitor says so, with a bounded number
/// of descriptors and without recursion, however deep that is.
class tree_walk {
public:
    tree_walk(std::filesystem::path folder, std::size_t most, std::size_t deepest)
        : folder_(std::move(folder)), left_(most), deepest_(deepest)
    {
    }
    virtual ~tree_walk() = default;

    /// False: there is more to see.
    bool go_on(slice_end until)
    {
        if (!std::exchange(begun_, true)) enter(AT_FDCWD, folder_.c_str(), {});
        while (!way_.empty()) {
            step();
            if (std::chrono::steady_clock::now() >= until) return way_.empty();
        }
        return true;
    }

    /// Not all was seen: there are too many entries or levels, a folder cannot be read, or one was moved meanwhile.
    bool cut() const { return cut_; }

private:
    struct level {
        unique_fd folder;  // closed while the walk is far below
        file_id id;
        std::size_t path;  // length of the path of what is above
        std::vector<folder_item> unseen;
        std::vector<std::string> inner{};
    };

    /// Whether a folder with these entries is looked at.
    virtual bool takes(const std::vector<folder_item>&) { return true; }

    /// Whether to go into it, if it is a folder.
    virtual bool see(const std::string& path, const std::string& name, const struct stat& status) = 0;

    void step()
    {
        level& last = way_.back();
        if (!last.unseen.empty()) return read_entry(last);
        if (last.inner.empty()) return leave();
        const std::string name = std::move(last.inner.back());
        last.inner.pop_back();
        enter(last.folder.get(), name.c_str(), name);
    }

    void enter(int above, const char* name, const std::string& shown)
    {
        unique_fd opened = open_folder_with_rights(above, name);
        if (!opened) {
            cut_ = cut_ || (errno != ENOENT && errno != ENOTDIR && errno != ELOOP && !is_closed_strangers(above, name));
            return;
        }
        folder_reader reader(std::move(opened));
        std::vector<folder_item> unseen = reader ? reader.read_all(left_) : std::vector<folder_item>();
        left_ -= unseen.size();
        cut_ = cut_ || !reader || left_ == 0;
        if (unseen.empty() || (!shown.empty() && !takes(unseen))) return;
        way_.push_back({reader.again(), file_id::of(reader.descriptor()), path_.size(), std::move(unseen)});
        if (!shown.empty()) path_ += (path_.empty() ? "" : "/") + shown;
        if (way_.size() > most_open) way_[way_.size() - most_open - 1].folder.reset();
    }

    void read_entry(level& in)
    {
        std::string name = std::move(in.unseen.back().name);
        in.unseen.pop_back();
        struct stat status {};
        if (::fstatat(in.folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
            cut_ = cut_ || errno != ENOENT;
            return;
        }
        const std::size_t length = path_.size();
        path_ += (path_.empty() ? "" : "/") + name;
        const bool into = see(path_, name, status) && S_ISDIR(status.st_mode);
        path_.resize(length);
        cut_ = cut_ || (into && way_.size() > deepest_);
        if (into && way_.size() <= deepest_) in.inner.push_back(std::move(name));
    }

    void leave()
    {
        const level last = std::move(way_.back());
        way_.pop_back();
        path_.resize(last.path);
        if (way_.empty() || way_.back().folder) return;
        level& above = way_.back();
        above.folder = open_above(last.folder.get(), above.id, O_PATH);
        if (above.folder) return;
        cut_ = true;
        way_.clear();
    }

    std::filesystem::path folder_;
    bool begun_ = false;
    std::size_t left_;
    std::size_t deepest_;
    std::vector<level> way_;  // from the first folder to the one that is looked at
    std::string path_;        // of the last of them
    bool cut_ = false;
};

class comparing_walk final : public tree_walk {
public:
    explicit comparing_walk(std::filesystem::path folder) : tree_walk(std::move(folder), most_entries, deepest_scan) {}

    std::optional<tree_scan> scan(slice_end until)
    {
        if (!go_on(until)) return std::nullopt;
        scan_.cut = cut();
        return std::move(scan_);
    }

private:
    // A virtual environment, whatever its name.
    bool takes(const std::vector<folder_item>& entries) override
    {
        const auto marks = [](const folder_item& each) { return each.name == "pyvenv.cfg"; };
        return std::none_of(entries.begin(), entries.end(), marks);
    }

    bool see(const std::string& path, const std::string& name, const struct stat& status) override
    {
        if (is_of_programs(name)) return false;
        if (!S_ISREG(status.st_mode)) return true;
        scan_.files[path] = {status.st_ino, static_cast<std::uint64_t>(status.st_size), nanoseconds(status.st_mtim),
                             nanoseconds(status.st_ctim)};
        if (status.st_nlink == 1) scan_.bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
        return true;
    }

    tree_scan scan_;
};

class measuring_walk final : public tree_walk {
public:
    explicit measuring_walk(std::filesystem::path folder)
        : tree_walk(std::move(folder), most_measured, std::numeric_limits<std::size_t>::max())
    {
    }

    std::optional<std::uint64_t> measure(slice_end until)
    {
        if (!go_on(until)) return std::nullopt;
        return cut() ? unmeasured : bytes_;
    }

private:
    bool see(const std::string&, const std::string&, const struct stat& status) override
    {
        const bool linked = status.st_nlink > 1 && !S_ISDIR(status.st_mode);
        if (!linked || linked_.insert(file_id(status)).second)
            bytes_ += static_cast<std::uint64_t>(status.st_blocks) * 512;
        return true;
    }

    std::uint64_t bytes_ = 0;
    std::set<file_id> linked_;
};

}  // namespace

sliced_work<tree_scan> scan_tree(std::filesystem::path workspace)
{
    const auto walk = std::make_shared<comparing_walk>(std::move(workspace));
    return [walk](slice_end until) { return walk->scan(until); };
}

sliced_work<std::uint64_t> disk_usage(std::filesystem::path folder)
{
    const auto walk = std::make_shared<measuring_walk>(std::move(folder));
    return [walk](slice_end until) { return walk->measure(until); };
}

changed_paths changed_files(const tree_scan& before, const tree_scan& after, std::size_t most)
{
    // The files of a build must not crowd out those that somebody wrote.
    std::vector<std::tuple<bool, std::int64_t, std::string>> changed;
    for (const auto& [path, now] : after.files) {
        const auto then = before.files.find(path);
        if (then == before.files.end() || then->second != now)
            changed.emplace_back(is_in_build(path), -now.changed, path);
    }
    std::sort(changed.begin(), changed.end());
    changed_paths result;
    result.left_out = changed.size() - std::min(changed.size(), most);
    changed.resize(changed.size() - result.left_out);
    for (auto& [built, when, path] : changed) result.paths.push_back(std::move(path));
    std::sort(result.paths.begin(), result.paths.end());
    return result;
}

}  // namespace cmcp
