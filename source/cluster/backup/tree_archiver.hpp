#pragma once

#include "backup/archive_writer.hpp"
#include "files/folder_reader.hpp"
#include "posix/unique_fd.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cmcp::backup {

/// Puts folders into an archive while others may change them: what is gone by then is left out, a file that grows or
/// shrinks has the size that it had. Follows no link. Holes stay holes, files of several names stay one file. Sockets,
/// FIFOs and devices are left out. Memory is bounded by the depth of a tree, its largest folder, and its files of
/// several names.
class tree_archiver {
public:
    explicit tree_archiver(archive_writer& to) : to_(to) {}

    /// The folder with all that is in it as `as`; `leaves_out` is called with paths in the archive. Throws
    /// std::runtime_error where the folder cannot be read.
    void add(const std::filesystem::path& folder, const std::string& as,
             const std::function<bool(const std::string&)>& leaves_out = {});

    /// A single file as `as`.
    void add_file(const std::filesystem::path& file, const std::string& as);

    void on_progress(std::function<void()> tell) { progress_ = std::move(tell); }
    const std::vector<std::string>& left_out() const { return left_out_; }  ///< sentences, 100 at most
    std::uint64_t left_out_count() const { return left_out_count_; }

private:
    struct level {
        std::size_t path;  // length of the path of the level above
        unique_fd folder;  // closed while the walk is far below
        std::vector<folder_item> left;
    };
    using inode = std::pair<dev_t, ino_t>;
    struct known_link {
        std::string path;
        nlink_t left;  // names that are still to come
    };

    void walk();
    void add_item(const std::string& name);
    void add_folder(const std::string& name, const struct stat& status);
    void enter(unique_fd folder);
    void leave();
    void add_whiteout(const struct stat& status);
    void add_link(const std::string& name, const struct stat& status);
    void add_regular(const std::string& name);
    bool add_as_hard_link(const struct stat& status);
    void add_open_file(int fd, const struct stat& status);
    void find_data(int fd, entry& of) const;
    void copy_content(int fd, const entry& of);
    void copy_range(int fd, std::uint64_t offset, std::uint64_t length);
    entry entry_of(entry::kind is, const struct stat& status) const;
    void leave_out(const std::string& reason);
    void tell() const;

    archive_writer& to_;
    unique_fd root_;         // of the tree that is walked
    std::string root_path_;  // in the archive
    std::string path_;       // in the archive, of what is added
    std::vector<level> way_;
    std::map<inode, known_link> links_;
    std::function<bool(const std::string&)> leaves_out_;
    std::function<void()> progress_;
    std::vector<std::string> left_out_;
    std::uint64_t left_out_count_ = 0;
    std::string buffer_ = std::string(256 * 1024, '\0');
};

}  // namespace cmcp::backup
