#include "backup/open_inside.hpp"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>

namespace cmcp::backup {

namespace {

unique_fd open_part(int folder, const std::string& part, int flags)
{
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NOFOLLOW);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    long opened = -1;
    do {
        opened = ::syscall(SYS_openat2, folder, part.c_str(), &how, sizeof how);
    } while (opened < 0 && (errno == EINTR || errno == EAGAIN));
    return unique_fd(static_cast<int>(opened));
}

}  // namespace

// The kernel takes paths of at most PATH_MAX bytes at a time.
unique_fd open_inside(int folder, std::string_view path, int flags)
{
    unique_fd at;
    while (path.size() >= PATH_MAX) {
        const auto cut = path.rfind('/', PATH_MAX - 1);
        if (cut == std::string_view::npos || cut == 0) {
            errno = ENAMETOOLONG;
            return {};
        }
        at = open_part(at ? at.get() : folder, std::string(path.substr(0, cut)), O_PATH | O_DIRECTORY);
        if (!at) return at;
        path.remove_prefix(cut + 1);
    }
    return open_part(at ? at.get() : folder, path.empty() ? "." : std::string(path), flags);
}

}  // namespace cmcp::backup
