#include "files/trees.hpp"

#include "files/folder_reader.hpp"
#include "posix/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string_view>

namespace cmcp {

namespace {

constexpr std::size_t most_entries = 100'000;
constexpr std::size_t most_measured = 5'000'000;
constexpr std::size_t deepest_scan = 128;  // folders open at once
constexpr std::array<std::string_view, 6> left_out{".local",  ".cache",      ".outputs",
                                                   ".config", "__pycache__", "node_modules"};

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000ll + time.tv_nsec; }

/// Calls `see` with every entry below a folder; goes into a folder when `see` says so.
class tree_walk {
public:
    using visitor = std::function<bool(const std::string& path, const std::string& name, const struct stat& status)>;

    tree_walk(std::size_t most, visitor see) : left_(most), see_(std::move(see)) {}

    void run(const std::filesystem::path& folder) { enter(open_folder(AT_FDCWD, folder.c_str()), {}, 0); }
    bool cut() const { return cut_; }

private:
    void enter(unique_fd opened, const std::string& path, std::size_t depth)
    {
        if (!opened) return;
        folder_reader reader(std::move(opened));
        for (const auto& item : reader.read_all(left_)) {
            if (left_ == 0) break;
            --left_;
            visit(reader.descriptor(), item, path.empty() ? item.name : path + "/" + item.name, depth);
        }
        cut_ = cut_ || left_ == 0;
    }

    void visit(int folder, const folder_item& item, const std::string& path, std::size_t depth)
    {
        struct stat status {};
        if (::fstatat(folder, item.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
        if (!see_(path, item.name, status) || !S_ISDIR(status.st_mode)) return;
        cut_ = cut_ || depth >= deepest_scan;
        if (depth < deepest_scan) enter(open_folder(folder, item.name.c_str()), path, depth + 1);
    }

    std::size_t left_;
    visitor see_;
    bool cut_ = false;
};

}  // namespace

tree_scan scan_tree(const std::filesystem::path& workspace)
{
    tree_scan scan;
    tree_walk walk(most_entries, [&](const std::string& path, const std::string& name, const struct stat& status) {
        if (std::find(left_out.begin(), left_out.end(), name) != left_out.end()) return false;
        if (!S_ISREG(status.st_mode)) return true;
        scan.files[path] = {status.st_ino, static_cast<std::uint64_t>(status.st_size), nanoseconds(status.st_mtim),
                            nanoseconds(status.st_ctim)};
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
    tree_walk walk(most_measured, [&](const std::string&, const std::string&, const struct stat& status) {
        const bool again =
            status.st_nlink > 1 && !S_ISDIR(status.st_mode) && !linked.emplace(status.st_dev, status.st_ino).second;
        if (!again) bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
        return true;
    });
    walk.run(folder);
    return bytes;
}

}  // namespace cmcp
