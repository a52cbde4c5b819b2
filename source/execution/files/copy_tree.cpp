#include "files/trees.hpp"

#include "files/extended_attributes.hpp"
#include "files/file_id.hpp"
#include "files/folder_reader.hpp"
#include "files/whiteout.hpp"
#include "posix/unique_fd.hpp"

#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <system_error>

namespace cmcp {

namespace {

constexpr std::size_t most_open_levels = 64;     // two descriptors each; those above are opened again by ".."
constexpr off_t copied_in_a_slice = 8ll << 20;   // bytes between looks at the clock
constexpr std::size_t longest_shown_path = 200;  // the end of a path in a message

[[noreturn]] void fail(std::string path)
{
    const int error = errno;
    if (path.size() > longest_shown_path) path = "..." + path.substr(path.size() - longest_shown_path);
    throw std::system_error(error, std::generic_category(), path);
}

// Entries that are gone or of another kind by now are left out; those that cannot be read are not lost silently.
void check_gone(const std::string& path)
{
    if (errno != ENOENT && errno != ELOOP && errno != ENOTDIR && errno != ENXIO) fail(path);
}

void keep_owner(int to, const struct stat& status)
{
    if (::geteuid() == 0 && ::fchown(to, status.st_uid, status.st_gid) != 0) fail("fchown");
}

void keep_attributes(int to, const struct stat& status)
{
    keep_owner(to, status);
    ::fchmod(to, status.st_mode & 0777);
    const std::array<timespec, 2> times{status.st_atim, status.st_mtim};
    ::futimens(to, times.data());
}

std::uint64_t blocks_of(int fd)
{
    struct stat status {};
    return ::fstat(fd, &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * 512 : 0;
}

/// The copy of one regular file. Only blocks with data are copied, so a sparse file stays sparse.
class file_copy {
public:
    file_copy(unique_fd from, unique_fd to, const struct stat& status)
        : from_(std::move(from)), to_(std::move(to)), status_(status)
    {
        if (::ioctl(to_.get(), FICLONE, from_.get()) == 0) at_ = status_.st_size;
    }

    int target() const { return to_.get(); }

    /// Copies a bounded part; true: the copy is whole.
    bool go_on()
    {
        if (at_ >= data_end_ && at_ < status_.st_size) find_data();
        const off_t end = std::min(data_end_, at_ + copied_in_a_slice);
        if (at_ < end) copy_range(end);
        if (at_ < status_.st_size) return false;
        if (::ftruncate(to_.get(), status_.st_size) != 0) fail("ftruncate");
        write_attributes(to_.get(), read_attributes(from_.get()));
        keep_attributes(to_.get(), status_);
        return true;
    }

private:
    void find_data()
    {
        const off_t data = ::lseek(from_.get(), at_, SEEK_DATA);
        at_ = data < 0 ? status_.st_size : data;
        const off_t hole = data < 0 ? -1 : ::lseek(from_.get(), data, SEEK_HOLE);
        data_end_ = hole < 0 ? status_.st_size : std::min(hole, status_.st_size);
    }

    void copy_range(off_t end)
    {
        off_t in = at_, out = at_;
        const auto length = static_cast<std::size_t>(end - at_);
        const ssize_t done = ::copy_file_range(from_.get(), &in, to_.get(), &out, length, 0);
        if (done < 0 && errno != EINTR) fail("copy_file_range");
        if (done > 0) at_ += done;
        if (done == 0) at_ = status_.st_size;  // the file became shorter
    }

    unique_fd from_;
    unique_fd to_;
    struct stat status_;
    off_t at_ = 0;
    off_t data_end_ = 0;
};

/// The copy of a tree, entry by entry, with a bounded number of descriptors and without recursion.
class tree_copy {
public:
    tree_copy(std::filesystem::path from, std::filesystem::path to) : from_(std::move(from)), to_(std::move(to)) {}

    std::optional<std::uint64_t> go_on(slice_end until)
    {
        if (!begun_) begin();
        while (!way_.empty()) {
            step();
            if (std::chrono::steady_clock::now() >= until) return std::nullopt;
        }
        return bytes_;
    }

private:
    struct level {
        unique_fd from;  // both are closed while the copy is far below
        unique_fd to;
        file_id from_id;
        file_id to_id;
        struct stat status;  // of the source, for the attributes of the copy
        std::size_t path;    // length of the path of what is above
        std::vector<folder_item> left;
    };

    void begin()
    {
        begun_ = true;
        unique_fd from = open_folder_with_rights(AT_FDCWD, from_.c_str());
        if (!from) fail(from_.string());
        unique_fd to = open_folder(AT_FDCWD, to_.c_str());
        if (!to) fail(to_.string());
        struct stat status {};
        if (::fstat(from.get(), &status) != 0) fail(from_.string());
        keep_owner(to.get(), status);
        root_ = unique_fd(::fcntl(to.get(), F_DUPFD_CLOEXEC, 0));
        if (!root_) fail(to_.string());
        enter(std::move(from), std::move(to), status, {});
    }

    void step()
    {
        if (file_) {
            if (file_->go_on()) end_file();
            return;
        }
        level& last = way_.back();
        if (last.left.empty()) return leave();
        const std::string name = std::move(last.left.back().name);
        last.left.pop_back();
        struct stat status {};
        if (::fstatat(last.from.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
            return check_gone(path_to(name));
        if (S_ISREG(status.st_mode)) begin_file(name);
        if (S_ISLNK(status.st_mode)) copy_link(name, status);
        if (S_ISDIR(status.st_mode)) copy_folder(name, status);
        if (is_whiteout(status) && !make_whiteout(last.to.get(), name.c_str())) fail(path_to(name));
    }

    std::string path_to(const std::string& name) const { return path_.empty() ? name : path_ + "/" + name; }

    void begin_file(const std::string& name)
    {
        const level& in = way_.back();
        unique_fd from(::openat(in.from.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
        if (!from) return check_gone(path_to(name));
        struct stat status {};
        if (::fstat(from.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
        if (link_to_copy(name, status)) return;
        unique_fd to(::openat(in.to.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (!to) fail(path_to(name));
        file_.emplace(std::move(from), std::move(to), status);
    }

    // A file of several names is copied once. Nobody else writes to the copy, so its paths lead where they did.
    bool link_to_copy(const std::string& name, const struct stat& status)
    {
        if (status.st_nlink < 2) return false;
        const auto [known, fresh] = copies_.try_emplace(file_id(status), path_to(name));
        return !fresh && ::linkat(root_.get(), known->second.c_str(), way_.back().to.get(), name.c_str(), 0) == 0;
    }

    void end_file()
    {
        bytes_ += blocks_of(file_->target());
        file_.reset();
    }

    void copy_link(const std::string& name, const struct stat& status)
    {
        std::array<char, PATH_MAX> target{};
        const level& in = way_.back();
        const ssize_t length = ::readlinkat(in.from.get(), name.c_str(), target.data(), target.size() - 1);
        if (length < 0 && errno != EINVAL) check_gone(path_to(name));
        if (length <= 0) return;
        if (::symlinkat(target.data(), in.to.get(), name.c_str()) != 0) fail(path_to(name));
        if (::geteuid() == 0 &&
            ::fchownat(in.to.get(), name.c_str(), status.st_uid, status.st_gid, AT_SYMLINK_NOFOLLOW) != 0)
            fail(path_to(name));
    }

    void copy_folder(const std::string& name, const struct stat& status)
    {
        const level& in = way_.back();
        unique_fd from = open_folder_with_rights(in.from.get(), name.c_str());
        if (!from) return check_gone(path_to(name));
        if (::mkdirat(in.to.get(), name.c_str(), 0700) != 0) fail(path_to(name));
        unique_fd to = open_folder(in.to.get(), name.c_str());
        if (!to) fail(path_to(name));
        enter(std::move(from), std::move(to), status, name);
    }

    void enter(unique_fd from, unique_fd to, const struct stat& status, const std::string& name)
    {
        const std::size_t length = path_.size();
        if (!name.empty()) path_ = path_to(name);
        folder_reader reader(std::move(from));
        if (!reader) fail(path_);
        auto items = reader.read_all();
        unique_fd source = reader.again();
        if (!source) fail(path_);
        write_attributes(to.get(), read_attributes(source.get()));
        const auto from_id = file_id::of(source.get()), to_id = file_id::of(to.get());
        way_.push_back({std::move(source), std::move(to), from_id, to_id, status, length, std::move(items)});
        if (way_.size() <= most_open_levels) return;
        level& far = way_[way_.size() - most_open_levels - 1];
        far.from.reset();
        far.to.reset();
    }

    void leave()
    {
        const level last = std::move(way_.back());
        way_.pop_back();
        bytes_ += blocks_of(last.to.get());
        if (!way_.empty()) keep_attributes(last.to.get(), last.status);
        if (!way_.empty() && !way_.back().from) reopen(last);
        path_.resize(last.path);
    }

    void reopen(const level& below)
    {
        level& above = way_.back();
        above.from = open_above(below.from.get(), above.from_id, O_RDONLY);
        if (above.from) above.to = open_above(below.to.get(), above.to_id, O_RDONLY);
        if (!above.to) fail(errno == EBUSY ? path_ + " was moved while it was copied" : path_);
    }

    std::filesystem::path from_;
    std::filesystem::path to_;
    unique_fd root_;                         // of the copy
    std::map<file_id, std::string> copies_;  // of files of several names, by the first one that was met
    bool begun_ = false;
    std::vector<level> way_;  // from the first folder to the one that is copied
    std::string path_;        // of the last of them, relative to the first
    std::optional<file_copy> file_;
    std::uint64_t bytes_ = 0;
};

}  // namespace

sliced_work<std::uint64_t> copy_tree(std::filesystem::path from, std::filesystem::path to)
{
    const auto copy = std::make_shared<tree_copy>(std::move(from), std::move(to));
    return [copy](slice_end until) { return copy->go_on(until); };
}

}  // namespace cmcp
