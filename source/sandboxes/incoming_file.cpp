#include "sandboxes/incoming_file.hpp"

#include "text/random_id.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace cmcp {

incoming_file::incoming_file(const file_root& root, const file_path& path)
    : path_(path), leaf_(path.leaf()), folder_(root.make_parent(path))
{
    if (path.trailing_slash()) path.refuse("ends with a slash; name the file.");
    struct stat present {};
    const bool there = ::fstatat(folder_.get(), leaf_.c_str(), &present, AT_SYMLINK_NOFOLLOW) == 0;
    if (there && S_ISDIR(present.st_mode)) path.refuse("is a folder; give the name that the file shall have in it.");
    // O_PATH cannot hold an unnamed file: the folder is opened again through itself.
    file_.reset(::openat(folder_.get(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
    if (!file_) path.fail(errno);
    root.adopt(file_.get());
    ::fchmod(file_.get(), 0644);
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

void incoming_file::publish()
{
    const std::string self = "/proc/self/fd/" + std::to_string(file_.get());
    if (::linkat(AT_FDCWD, self.c_str(), folder_.get(), leaf_.c_str(), AT_SYMLINK_FOLLOW) == 0) return;
    if (errno != EEXIST) path_.fail(errno);
    const std::string hidden = ".cmcp-" + random_id() + ".tmp";  // only a rename replaces
    if (::linkat(AT_FDCWD, self.c_str(), folder_.get(), hidden.c_str(), AT_SYMLINK_FOLLOW) != 0) path_.fail(errno);
    if (::renameat(folder_.get(), hidden.c_str(), folder_.get(), leaf_.c_str()) == 0) return;
    const int error = errno;
    ::unlinkat(folder_.get(), hidden.c_str(), 0);
    path_.fail(error);
}

}  // namespace cmcp
