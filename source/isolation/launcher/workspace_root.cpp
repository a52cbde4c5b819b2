#include "launcher/workspace_root.hpp"

#include "facilities/setup_step.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cmcp::sandbox {
namespace {

constexpr int folder_only = O_DIRECTORY | O_CLOEXEC;

}  // namespace

workspace_root::workspace_root(std::string path) : path_(std::move(path))
{
    if (!path_.empty()) folder_.reset(::open(path_.c_str(), O_PATH | folder_only));
}

unique_fd workspace_root::open(const std::string& workspace, int access, const char* kind) const
{
    const std::string step = std::string("open ") + kind + " " + workspace;
    if (path_.empty()) return unique_fd(check(::open(workspace.c_str(), access | folder_only), step));
    if (!folder_) folder_.reset(check(::open(path_.c_str(), O_PATH | folder_only), step));
    if (!workspace.starts_with(path_ + "/")) throw step_failed(step, EXDEV);
    const std::string inside = workspace.substr(path_.size() + 1);
    open_how how{};
    how.flags = static_cast<std::uint64_t>(access | folder_only);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    const long folder = ::syscall(SYS_openat2, folder_.get(), inside.c_str(), &how, sizeof how);
    return unique_fd(static_cast<int>(check(folder, step)));
}

}  // namespace cmcp::sandbox
