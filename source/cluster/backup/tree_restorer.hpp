#pragma once

#include "backup/archive_reader.hpp"
#include "files/owner_rights.hpp"
#include "posix/unique_fd.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cmcp::backup {

/// Makes the entries of an archive below a folder that is empty at first and that nobody else changes. Nothing is made
/// outside of it: a path with "..", a path through a link, a link at a place where backups have none, a second entry of
/// a path, each is refused (bad_archive). No entry gets a set-uid, set-gid or sticky bit. Owners are set by root alone.
class tree_restorer {
public:
    /// `root`: the folder of the archive whose entries are made. `owner`: whose server the folder belongs to; the
    /// server's own files belong to that user, and all files where that is not root. None: as the archive says.
    explicit tree_restorer(int folder, std::string root = "root", std::optional<file_owner> owner = {});

    /// The entry of `root` itself: the folder gets its mode and times in finish(). To be called before add(), or never.
    void add_root(const entry& of);

    /// `of.path` is below `root`; the content is read from the archive.
    void add(const entry& of, archive_reader& from);

    /// Modes and times of the folders that are still open; to be called at the end.
    void finish();

    bool lost_attributes() const { return lost_attributes_; }  ///< the file system keeps none of users

private:
    file_owner owner_of(const entry& of) const;
    std::string_view inside(std::string_view path) const;
    void leave_folders(std::string_view path);
    int parent_of(const entry& of);
    void make_folder(const entry& of);
    void make_file(const entry& of, archive_reader& from);
    void make_symbolic_link(const entry& of);
    void restore_whiteout(const entry& of);
    void make_hard_link(const entry& of);
    void write_content(int fd, const entry& of, archive_reader& from);
    void write_range(int fd, std::uint64_t offset, std::uint64_t length, archive_reader& from);
    void set_attributes(int fd, const entry& of);

    int folder_;
    std::string root_;
    std::optional<file_owner> owner_;
    bool is_root_;
    bool lost_attributes_ = false;
    std::string parent_path_;
    unique_fd parent_;
    std::vector<entry> open_folders_;  // from the outermost on
    std::string buffer_ = std::string(256 * 1024, '\0');
};

/// Throws bad_archive unless each component is one that a folder can have, and none leads upwards.
void check_entry_path(std::string_view path);

}  // namespace cmcp::backup
