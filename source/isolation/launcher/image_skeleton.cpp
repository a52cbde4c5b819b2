#include "launcher/image_skeleton.hpp"

#include "posix/bytes.hpp"
#include "text/words.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cmcp::sandbox {
namespace {

constexpr std::size_t longest_list = 64 * 1024;

// The image is a stranger's: a link stays within the root, and nothing but a file is read.
std::string read_inside(int root, const std::string& path)
{
    open_how how{};
    how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    const unique_fd file(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
    return read_at(file.get(), 0, longest_list).value_or("");
}

// The image's own accounts but those that have the user's number or name.
std::string accounts(const std::string& name, const std::string& own, const std::string& list)
{
    std::string all = own;
    for (const auto line : split(list, '\n')) {
        const auto parts = split(line, ':');
        if (parts.size() > 2 && parts[2] != "1000" && parts[0] != name) all += std::string(line) + '\n';
    }
    return all;
}

bool has_folder(int root, const char* name)
{
    struct stat status {};
    return ::fstatat(root, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || S_ISDIR(status.st_mode);
}

}  // namespace

void add_image_accounts(tree_builder& above, int image, const run_account& user)
{
    if (!has_folder(image, "etc")) return;
    const auto& [name, home] = user;
    above.file("/etc/passwd", accounts(name, name + ":x:1000:1000:" + name + ":" + home + ":/bin/sh\n",
                                       read_inside(image, "/etc/passwd")));
    above.file("/etc/group", accounts(name, name + ":x:1000:\n", read_inside(image, "/etc/group")));
    above.file("/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n");
    above.file("/etc/hostname", "sandbox\n");
    above.file("/etc/resolv.conf", "");
    if (read_inside(image, "/etc/gitconfig").empty()) add_git_settings(above);
    if (has_folder(image, "var")) above.link("/var/tmp", "/tmp");  // what can be written is the run's own
}

}  // namespace cmcp::sandbox
