#include "backup/tree_restorer.hpp"

#include "backup/bad_archive.hpp"
#include "backup/open_inside.hpp"
#include "backup/tar_format.hpp"
#include "backup/user_tree.hpp"
#include "files/extended_attributes.hpp"
#include "files/whiteout.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace cmcp::backup {

namespace {

std::string shown(std::string_view path)
{
    std::string text;
    for (const char c : path.substr(0, 200)) text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    return text;
}

[[noreturn]] void refuse_entry(std::string_view path, const std::string& why)
{
    throw bad_archive("the archive has an entry that no backup has: " + shown(path) + " " + why);
}

[[noreturn]] void cannot_make(std::string_view path)
{
    const int error = errno;
    if (error == EEXIST) refuse_entry(path, "stands in it twice");
    if (error == ELOOP || error == ENOTDIR || error == ENOENT || error == EXDEV)
        refuse_entry(path, "is not in a folder of the archive");
    throw std::runtime_error(shown(path) + " cannot be made: " + std::strerror(error));
}

std::string_view folder_in(std::string_view path)
{
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string name_in(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

// Neither callers nor images ever had other bits. The server's own files are nobody else's, but for the store of images
// and folders, which lead to what runs read.
mode_t allowed_mode(const entry& of)
{
    if (!user_tree(of.path).empty()) return of.mode & 0777;
    const bool leads_on = of.is == entry::kind::folder || of.path.starts_with("root/images/");
    return of.mode & (leads_on ? 0755 : 0700);
}

std::array<timespec, 2> times_of(const entry& of) { return {of.modified, of.modified}; }

bool contains(std::string_view folder, std::string_view path)
{
    return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

}  // namespace

void check_entry_path(std::string_view path)
{
    if (path.empty() || path.size() > longest_path) refuse_entry(path, "has no usable name");
    for (std::string_view rest = path;;) {
        const auto end = rest.find('/');
        const auto component = rest.substr(0, end);
        if (component.empty() || component == "." || component == ".." || component.size() > NAME_MAX ||
            component.find('\0') != std::string_view::npos)
            refuse_entry(path, "has no usable name");
        if (end == std::string_view::npos) return;
        rest.remove_prefix(end + 1);
    }
}

tree_restorer::tree_restorer(int folder, std::string root, std::optional<file_owner> owner)
    : folder_(folder), root_(std::move(root)), owner_(owner), is_root_(::geteuid() == 0)
{
}

// A server that runs as root gives folders to callers' users. In the folder of another user's server all is that
// user's.
file_owner tree_restorer::owner_of(const entry& of) const
{
    struct stat said {};
    said.st_uid = of.uid;
    said.st_gid = of.gid;
    const bool may_be_another = !owner_ || (owner_->user == 0 && !user_tree(of.path).empty());
    return may_be_another ? file_owner(said) : *owner_;
}

// Empty for the root itself.
std::string_view tree_restorer::inside(std::string_view path) const
{
    return path.substr(std::min(path.size(), root_.size() + 1));
}

void tree_restorer::add_root(const entry& of)
{
    if (of.path != root_ || of.is != entry::kind::folder)
        refuse_entry(of.path, "is not the folder that it begins with");
    open_folders_.push_back(of);
}

void tree_restorer::add(const entry& of, archive_reader& from)
{
    check_entry_path(of.path);
    if (!contains(root_, of.path)) refuse_entry(of.path, "is outside of its folder");
    leave_folders(of.path);
    switch (of.is) {
        case entry::kind::folder:
            return make_folder(of);
        case entry::kind::file:
            return make_file(of, from);
        case entry::kind::symbolic_link:
            return make_symbolic_link(of);
        case entry::kind::hard_link:
            return make_hard_link(of);
        case entry::kind::whiteout:
            return restore_whiteout(of);
    }
}

int tree_restorer::parent_of(const entry& of)
{
    const std::string path(folder_in(inside(of.path)));
    if (parent_ && path == parent_path_) return parent_.get();
    parent_ = open_inside(folder_, path, O_PATH | O_DIRECTORY);
    if (!parent_) cannot_make(of.path);
    parent_path_ = path;
    return parent_.get();
}

// With the mode of the archive nothing could be made in some folders, so they get it when they are whole.
void tree_restorer::make_folder(const entry& of)
{
    if (::mkdirat(parent_of(of), name_in(of.path).c_str(), 0700) != 0) cannot_make(of.path);
    open_folders_.push_back(of);
}

void tree_restorer::leave_folders(std::string_view path)
{
    while (!open_folders_.empty() && !contains(open_folders_.back().path, path)) {
        const entry of = std::move(open_folders_.back());
        open_folders_.pop_back();
        const auto folder = open_inside(folder_, inside(of.path), O_RDONLY | O_DIRECTORY);
        if (!folder) cannot_make(of.path);
        set_attributes(folder.get(), of);
    }
}

void tree_restorer::finish() { leave_folders({}); }

void tree_restorer::set_attributes(int fd, const entry& of)
{
    for (const auto& [name, value] : of.attributes)
        if (!is_user_attribute(name)) refuse_entry(of.path, "has an extended attribute of another kind than user.*");
    if (!write_attributes(fd, of.attributes)) lost_attributes_ = true;
    const auto times = times_of(of);
    const auto owner = owner_of(of);
    const bool done = (!is_root_ || ::fchown(fd, owner.user, owner.group) == 0) &&
                      ::fchmod(fd, allowed_mode(of)) == 0 && ::futimens(fd, times.data()) == 0;
    if (!done) cannot_make(of.path);
}

void tree_restorer::make_file(const entry& of, archive_reader& from)
{
    constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const unique_fd file(::openat(parent_of(of), name_in(of.path).c_str(), flags, 0600));
    if (!file) cannot_make(of.path);
    write_content(file.get(), of, from);
    set_attributes(file.get(), of);
}

void tree_restorer::write_content(int fd, const entry& of, archive_reader& from)
{
    if (!of.sparse) return write_range(fd, 0, of.size, from);
    for (const auto& [offset, length] : of.data) write_range(fd, offset, length, from);
    if (::ftruncate(fd, static_cast<off_t>(of.size)) != 0) cannot_make(of.path);
}

void tree_restorer::write_range(int fd, std::uint64_t offset, std::uint64_t length, archive_reader& from)
{
    while (length > 0) {
        const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size(), length));
        const auto count = from.content(buffer_.data(), most);
        if (count == 0) throw bad_archive("the archive is damaged: a file is shorter than its header says");
        for (std::size_t done = 0; done < count;) {
            const auto written = ::pwrite(fd, buffer_.data() + done, count - done, static_cast<off_t>(offset + done));
            if (written < 0 && errno == EINTR) continue;
            if (written <= 0) throw std::runtime_error(std::string("the disk takes no more: ") + std::strerror(errno));
            done += static_cast<std::size_t>(written);
        }
        offset += count;
        length -= count;
    }
}

void tree_restorer::make_symbolic_link(const entry& of)
{
    if (user_tree(of.path).empty()) refuse_entry(of.path, "is a link outside of the folders of callers");
    const bool usable = !of.target.empty() && of.target.size() < PATH_MAX && of.target.find('\0') == std::string::npos;
    if (!usable) refuse_entry(of.path, "is a link to nowhere");
    const int parent = parent_of(of);
    const auto name = name_in(of.path);
    const auto times = times_of(of);
    if (::symlinkat(of.target.c_str(), parent, name.c_str()) != 0) cannot_make(of.path);
    const auto owner = owner_of(of);
    const bool done =
        (!is_root_ || ::fchownat(parent, name.c_str(), owner.user, owner.group, AT_SYMLINK_NOFOLLOW) == 0) &&
        ::utimensat(parent, name.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) == 0;
    if (!done) cannot_make(of.path);
}

void tree_restorer::restore_whiteout(const entry& of)
{
    if (user_tree(of.path).empty()) refuse_entry(of.path, "is a device outside of the folders of callers");
    if (!make_whiteout(parent_of(of), name_in(of.path).c_str())) cannot_make(of.path);
}

// The two names belong to one folder of one caller, so no link lends one caller's file to another.
void tree_restorer::make_hard_link(const entry& of)
{
    check_entry_path(of.target);
    if (user_tree(of.path).empty() || user_tree(of.path) != user_tree(of.target))
        refuse_entry(of.path, "is a hard link that leaves its folder");
    const auto from = open_inside(folder_, folder_in(inside(of.target)), O_PATH | O_DIRECTORY);
    struct stat status {};
    const auto target = name_in(of.target);
    if (!from || ::fstatat(from.get(), target.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) cannot_make(of.path);
    if (!S_ISREG(status.st_mode)) refuse_entry(of.path, "is a hard link to what is no file");
    if (::linkat(from.get(), target.c_str(), parent_of(of), name_in(of.path).c_str(), 0) != 0) cannot_make(of.path);
}

}  // namespace cmcp::backup
