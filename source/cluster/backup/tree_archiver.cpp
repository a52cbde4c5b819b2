#include "backup/tree_archiver.hpp"

#include "backup/open_inside.hpp"
#include "backup/tar_format.hpp"
#include "backup/user_tree.hpp"
#include "files/extended_attributes.hpp"
#include "files/whiteout.hpp"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace cmcp::backup {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_open = 64;  // folders at once
constexpr std::size_t most_sentences = 100;
constexpr std::uint64_t least_hole = 64 * 1024;

std::runtime_error unreadable(const std::string& what)
{
    return std::runtime_error(what + " cannot be read: " + std::strerror(errno));
}

// A file that its owner has closed to itself is opened all the same, and closed again.
unique_fd open_file(int folder, const std::string& name)
{
    constexpr int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    unique_fd file(::openat(folder, name.c_str(), flags));
    if (file || errno != EACCES) return file;
    const unique_fd handle(::openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!handle || ::fstat(handle.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
    const std::string place = "/proc/self/fd/" + std::to_string(handle.get());
    if (::chmod(place.c_str(), (status.st_mode & 07777) | S_IRUSR) != 0) return {};
    file = unique_fd(::open(place.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    ::chmod(place.c_str(), status.st_mode & 07777);
    return file;
}

}  // namespace

void tree_archiver::tell() const
{
    if (progress_) progress_();
}

void tree_archiver::leave_out(const std::string& reason)
{
    ++left_out_count_;
    if (left_out_.size() < most_sentences) left_out_.push_back(path_ + ": " + reason);
}

entry tree_archiver::entry_of(entry::kind is, const struct stat& status) const
{
    entry of;
    of.is = is;
    of.path = path_;
    of.mode = status.st_mode & 07777;
    of.uid = status.st_uid;
    of.gid = status.st_gid;
    of.modified = status.st_mtim;
    return of;
}

void tree_archiver::add(const fs::path& folder, const std::string& as,
                        const std::function<bool(const std::string&)>& leaves_out)
{
    root_ = unique_fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat status {};
    if (!root_ || ::fstat(root_.get(), &status) != 0) throw unreadable(folder.string());
    leaves_out_ = leaves_out;
    root_path_ = path_ = as;
    links_.clear();
    entry of = entry_of(entry::kind::folder, status);
    of.attributes = read_attributes(root_.get());
    to_.begin(of);
    to_.end();
    enter(open_inside(root_.get(), "", O_RDONLY | O_DIRECTORY));
    walk();
}

void tree_archiver::add_file(const fs::path& file, const std::string& as)
{
    const unique_fd opened(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!opened || ::fstat(opened.get(), &status) != 0) throw unreadable(file.string());
    if (!S_ISREG(status.st_mode)) return;
    path_ = as;
    status.st_nlink = 1;
    add_open_file(opened.get(), status);
}

void tree_archiver::walk()
{
    while (!way_.empty()) {
        level& last = way_.back();
        if (last.left.empty()) {
            leave();
            continue;
        }
        const std::string name = std::move(last.left.back().name);
        last.left.pop_back();
        const auto length = path_.size();
        const auto depth = way_.size();
        path_ += "/" + name;
        add_item(name);
        if (way_.size() == depth) path_.resize(length);
    }
}

void tree_archiver::add_item(const std::string& name)
{
    if (leaves_out_ && leaves_out_(path_)) return;
    if (path_.size() > longest_path) return leave_out("its path is longer than a backup takes");
    struct stat status {};
    if (::fstatat(way_.back().folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (S_ISDIR(status.st_mode)) return add_folder(name, status);
    if (S_ISREG(status.st_mode)) return add_regular(name);
    if (S_ISLNK(status.st_mode)) return add_link(name, status);
    if (is_whiteout(status) && !user_tree(path_).empty()) return add_whiteout(status);
    leave_out("a socket, FIFO or device");
}

void tree_archiver::add_folder(const std::string& name, const struct stat& status)
{
    unique_fd folder = open_folder_with_rights(way_.back().folder.get(), name.c_str());
    if (!folder)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? void() : leave_out(std::strerror(errno));
    entry of = entry_of(entry::kind::folder, status);
    of.attributes = read_attributes(folder.get());
    to_.begin(of);
    to_.end();
    const auto above = path_.size() - name.size() - 1;
    enter(std::move(folder));
    way_.back().path = above;
}

void tree_archiver::enter(unique_fd folder)
{
    folder_reader reader(std::move(folder));
    if (!reader) throw unreadable(path_);
    auto items = reader.read_all();
    // From the back, so that an archive has the names in order.
    std::ranges::sort(items, std::greater<>(), &folder_item::name);
    way_.push_back({path_.size(), reader.again(), std::move(items)});
    if (way_.size() > most_open) way_[way_.size() - most_open - 1].folder.reset();
}

void tree_archiver::leave()
{
    path_.resize(way_.back().path);
    way_.pop_back();
    if (way_.empty() || way_.back().folder) return;
    const auto inside = std::string_view(path_).substr(std::min(path_.size(), root_path_.size() + 1));
    way_.back().folder = open_inside(root_.get(), inside, O_RDONLY | O_DIRECTORY);
    if (way_.back().folder) return;
    leave_out("the folder was moved meanwhile, so the rest of it is missing");
    way_.back().left.clear();
}

void tree_archiver::add_link(const std::string& name, const struct stat& status)
{
    if (user_tree(path_).empty()) return leave_out("a link at a place where a backup takes none");
    std::array<char, PATH_MAX> target{};
    const auto length = ::readlinkat(way_.back().folder.get(), name.c_str(), target.data(), target.size());
    if (length <= 0 || static_cast<std::size_t>(length) == target.size()) return;
    entry of = entry_of(entry::kind::symbolic_link, status);
    of.target.assign(target.data(), static_cast<std::size_t>(length));
    to_.begin(of);
    to_.end();
    tell();
}

void tree_archiver::add_whiteout(const struct stat& status)
{
    to_.begin(entry_of(entry::kind::whiteout, status));
    to_.end();
    tell();
}

void tree_archiver::add_regular(const std::string& name)
{
    const unique_fd file = open_file(way_.back().folder.get(), name);
    if (!file && (errno == ENOENT || errno == ELOOP || errno == ENXIO)) return;
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) return leave_out(std::strerror(errno));
    if (!S_ISREG(status.st_mode)) return;
    add_open_file(file.get(), status);
}

// Links between two callers' folders would be no links after a restore, so they are not looked for.
bool tree_archiver::add_as_hard_link(const struct stat& status)
{
    if (status.st_nlink < 2 || user_tree(path_).empty()) return false;
    const auto [known, fresh] = links_.try_emplace({status.st_dev, status.st_ino}, known_link{path_, status.st_nlink});
    auto& link = known->second;
    if (fresh || user_tree(link.path) != user_tree(path_)) return false;
    entry of = entry_of(entry::kind::hard_link, status);
    of.target = link.path;
    to_.begin(of);
    to_.end();
    if (--link.left < 2) links_.erase(known);
    return true;
}

void tree_archiver::add_open_file(int fd, const struct stat& status)
{
    if (add_as_hard_link(status)) return tell();
    entry of = entry_of(entry::kind::file, status);
    of.size = static_cast<std::uint64_t>(status.st_size);
    of.attributes = read_attributes(fd);
    const bool has_holes = static_cast<std::uint64_t>(status.st_blocks) * 512 + least_hole <= of.size;
    if (has_holes) find_data(fd, of);
    to_.begin(of);
    copy_content(fd, of);
    to_.end();
    tell();
}

// A file in too many pieces is stored whole.
void tree_archiver::find_data(int fd, entry& of) const
{
    of.sparse = true;
    off_t at = 0;
    const auto size = static_cast<off_t>(of.size);
    while (at < size) {
        const off_t data = ::lseek(fd, at, SEEK_DATA);
        if (data < 0 || data >= size) break;
        const off_t hole = ::lseek(fd, data, SEEK_HOLE);
        const off_t end = hole < 0 ? size : std::min(hole, size);
        of.data.emplace_back(static_cast<std::uint64_t>(data), static_cast<std::uint64_t>(end - data));
        at = end;
    }
    // GNU tar takes the end of the last range for the end of the file.
    const auto end = of.data.empty() ? 0 : of.data.back().first + of.data.back().second;
    if (end < of.size) of.data.emplace_back(of.size, 0);
    if (of.data.size() < most_data_ranges) return;
    of.data.clear();
    of.sparse = false;
}

void tree_archiver::copy_content(int fd, const entry& of)
{
    if (!of.sparse) return copy_range(fd, 0, of.size);
    for (const auto& [offset, length] : of.data) copy_range(fd, offset, length);
}

// A file that became shorter meanwhile is filled up, so that the ranges behind stay where they belong.
void tree_archiver::copy_range(int fd, std::uint64_t offset, std::uint64_t length)
{
    while (length > 0) {
        const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size(), length));
        auto count = ::pread(fd, buffer_.data(), most, static_cast<off_t>(offset));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) {
            std::fill_n(buffer_.begin(), most, '\0');
            count = static_cast<ssize_t>(most);
        }
        to_.content({buffer_.data(), static_cast<std::size_t>(count)});
        offset += static_cast<std::uint64_t>(count);
        length -= static_cast<std::uint64_t>(count);
        tell();
    }
}

}  // namespace cmcp::backup
