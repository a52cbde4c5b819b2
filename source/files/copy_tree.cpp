#include "files/trees.hpp"

#include "files/folder_reader.hpp"
#include "posix/unique_fd.hpp"

#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace cmcp {

namespace {

constexpr std::size_t deepest = 256;  // two descriptors a level

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

void keep_attributes(int to, const struct stat& status)
{
    if (::geteuid() == 0 && ::fchown(to, status.st_uid, status.st_gid) != 0) fail("fchown");
    ::fchmod(to, status.st_mode & 0777);
    const std::array<timespec, 2> times{status.st_atim, status.st_mtim};
    ::futimens(to, times.data());
}

void copy_range(int from, int to, off_t at, off_t end)
{
    while (at < end) {
        off_t in = at, out = at;
        const ssize_t done = ::copy_file_range(from, &in, to, &out, static_cast<std::size_t>(end - at), 0);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) fail("copy_file_range");
        if (done == 0) return;  // the file became shorter
        at += done;
    }
}

// Only blocks with data are copied, so a sparse file stays sparse.
void copy_content(int from, int to, off_t size)
{
    if (::ioctl(to, FICLONE, from) == 0) return;
    for (off_t at = 0; at < size;) {
        const off_t data = ::lseek(from, at, SEEK_DATA);
        if (data < 0) break;
        const off_t hole = ::lseek(from, data, SEEK_HOLE);
        copy_range(from, to, data, hole < 0 ? size : hole);
        at = hole < 0 ? size : hole;
    }
    if (::ftruncate(to, size) != 0) fail("ftruncate");
}

// Files that are gone or of another kind by now are left out; those that cannot be read are not lost silently.
void check_gone(const std::string& path)
{
    if (errno != ENOENT && errno != ELOOP && errno != ENOTDIR && errno != ENXIO) fail(path);
}

void copy_file(int from_folder, int to_folder, const std::string& name, const std::string& path)
{
    const unique_fd from(::openat(from_folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!from) return check_gone(path);
    struct stat status {};
    if (::fstat(from.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    const unique_fd to(::openat(to_folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!to) fail(name);
    copy_content(from.get(), to.get(), status.st_size);
    keep_attributes(to.get(), status);
}

void copy_link(int from_folder, int to_folder, const std::string& name)
{
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlinkat(from_folder, name.c_str(), target.data(), target.size() - 1);
    if (length > 0 && ::symlinkat(target.data(), to_folder, name.c_str()) != 0) fail(name);
}

void copy_folder(unique_fd from, int to, const std::string& above, std::size_t depth)
{
    if (depth > deepest) {
        errno = ELOOP;
        fail("a folder that is nested more than 256 deep");
    }
    folder_reader reader(std::move(from));
    for (const auto& item : reader.read_all()) {
        const std::string path = above.empty() ? item.name : above + "/" + item.name;
        struct stat status {};
        if (::fstatat(reader.descriptor(), item.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (S_ISREG(status.st_mode)) copy_file(reader.descriptor(), to, item.name, path);
        if (S_ISLNK(status.st_mode)) copy_link(reader.descriptor(), to, item.name);
        if (!S_ISDIR(status.st_mode)) continue;
        unique_fd inner = open_folder_with_rights(reader.descriptor(), item.name.c_str());
        if (!inner) {
            check_gone(path);
            continue;
        }
        if (::mkdirat(to, item.name.c_str(), 0700) != 0) fail(item.name);
        const unique_fd copy = open_folder(to, item.name.c_str());
        if (!copy) fail(item.name);
        copy_folder(std::move(inner), copy.get(), path, depth + 1);
        keep_attributes(copy.get(), status);
    }
}

}  // namespace

void copy_tree(const std::filesystem::path& from, const std::filesystem::path& to)
{
    unique_fd source = open_folder(AT_FDCWD, from.c_str());
    if (!source) fail(from.string());
    const unique_fd target = open_folder(AT_FDCWD, to.c_str());
    if (!target) fail(to.string());
    copy_folder(std::move(source), target.get(), {}, 0);
}

}  // namespace cmcp
