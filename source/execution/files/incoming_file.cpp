#include "files/incoming_file.hpp"

#include "files/file_error.hpp"
#include "text/random_id.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <utility>

namespace cmcp {

namespace {

std::string descriptor_path(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

bool same_time(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

bool unchanged(const struct stat& now, const struct stat& before)
{
    return now.st_dev == before.st_dev && now.st_ino == before.st_ino && now.st_size == before.st_size &&
           same_time(now.st_mtim, before.st_mtim) && same_time(now.st_ctim, before.st_ctim);
}

std::string hidden_name() { return ".cmcp-" + random_id() + ".tmp"; }

}  // namespace

incoming_file::incoming_file(const file_root& root, const file_path& path, mode_t mode)
    : path_(path), leaf_(path.leaf()), owner_(root.owner()), folder_(root.make_parent(path))
{
    if (path.trailing_slash()) path.refuse("ends with a slash; name the file.");
    struct stat present {};
    const bool there = ::fstatat(folder_.get(), leaf_.c_str(), &present, AT_SYMLINK_NOFOLLOW) == 0;
    if (there && S_ISDIR(present.st_mode)) path.refuse("is a folder; give the name that the file shall have in it.");
    // A descriptor of O_PATH cannot hold an unnamed file, so the folder is opened again through itself.
    file_.reset(::openat(folder_.get(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
    if (!file_ || !can_be_named()) {
        std::string name = hidden_name();
        file_.reset(::openat(folder_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (!file_) path.fail(errno);
        hidden_ = std::move(name);
    }
    if (::fchmod(file_.get(), mode) != 0) path.fail(errno);
}

incoming_file::~incoming_file()
{
    if (!hidden_.empty()) ::unlinkat(folder_.get(), hidden_.c_str(), 0);
}

// Without /proc the file could get no name later.
bool incoming_file::can_be_named() const { return ::access(descriptor_path(file_.get()).c_str(), F_OK) == 0; }

bool incoming_file::link_to(const std::string& name) const
{
    const std::string self = descriptor_path(file_.get());
    return ::linkat(AT_FDCWD, self.c_str(), folder_.get(), name.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

void incoming_file::append(std::string_view bytes)
{
    while (!bytes.empty()) {
        const auto written = ::write(file_.get(), bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) path_.fail(errno);
        bytes.remove_prefix(static_cast<std::size_t>(written));
        size_ += static_cast<std::uint64_t>(written);
    }
}

// Of two calls of this server that read the same file, the second one finds another file there.
void incoming_file::publish_over(const struct stat& seen)
{
    static std::mutex one_at_a_time;
    const std::lock_guard turn(one_at_a_time);
    struct stat now {};
    const bool there = ::fstatat(folder_.get(), leaf_.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0;
    if (!there || !unchanged(now, seen))
        throw file_changed(path_.field() + ' ' + quote_path(path_.text()) +
                           " was changed by somebody else meanwhile; read it again, then edit it.");
    publish();
}

void incoming_file::publish()
{
    const owner_rights rights(owner_);
    if (hidden_.empty()) {
        if (link_to(leaf_)) return;
        if (errno != EEXIST) path_.fail(errno);
        std::string name = hidden_name();  // only a rename replaces
        if (!link_to(name)) path_.fail(errno);
        hidden_ = std::move(name);
    }
    if (::renameat(folder_.get(), hidden_.c_str(), folder_.get(), leaf_.c_str()) != 0) path_.fail(errno);
    hidden_.clear();
}

}  // namespace cmcp
