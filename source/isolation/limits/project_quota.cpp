#include "limits/project_quota.hpp"

#include "posix/unique_fd.hpp"

#include <fcntl.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>

namespace cmcp::sandbox {
namespace {

constexpr std::uint32_t own_projects = 1u << 30;  // the numbers from here to twice as much
constexpr std::uint64_t no_bound = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t small_file = 64 << 10;
constexpr int most_tries = 64;

long ask_quota(int folder, unsigned command, std::uint32_t project, void* answer)
{
    return ::syscall(SYS_quotactl_fd, folder, QCMD(command, PRJQUOTA), project, answer);
}

bool holds_limits(int folder)
{
    fs_quota_statv state{};
    state.qs_version = FS_QSTATV_VERSION1;
    return ask_quota(folder, Q_XGETQSTATV, 0, &state) == 0 && (state.qs_flags & FS_QUOTA_PDQ_ENFD) != 0;
}

// XFS knows a project only once it has files or limits.
std::optional<if_dqblk> state_of(int folder, std::uint32_t project)
{
    if_dqblk state{};
    if (ask_quota(folder, Q_GETQUOTA, project, &state) == 0 || errno == ENOENT) return state;
    return std::nullopt;
}

std::optional<fsxattr> attributes_of(int file)
{
    fsxattr attributes{};
    if (::ioctl(file, FS_IOC_FSGETXATTR, &attributes) != 0) return std::nullopt;
    return attributes;
}

}  // namespace

std::string project_obstacle(const std::string& path)
{
    const unique_fd folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return "the folder of the sandboxes is not there yet";
    if (!holds_limits(folder.get())) return "their file system has no project quotas (mount option prjquota)";
    return state_of(folder.get(), own_projects) ? "" : "the launcher is not root outside of user namespaces";
}

std::uint32_t project_of(int folder)
{
    const auto attributes = attributes_of(folder);
    const bool own = attributes && (attributes->fsx_xflags & FS_XFLAG_PROJINHERIT) != 0 &&
                     attributes->fsx_projid / own_projects == 1;
    return own ? attributes->fsx_projid : 0;
}

std::uint32_t free_project(int folder)
{
    const auto attributes = attributes_of(folder);
    struct stat status {};
    if (!attributes || attributes->fsx_projid != 0 || !holds_limits(folder) || ::fstat(folder, &status) != 0) return 0;
    for (std::uint64_t each = status.st_ino; each < status.st_ino + most_tries; ++each) {
        const auto project = own_projects + static_cast<std::uint32_t>(each % own_projects);
        const auto state = state_of(folder, project);
        if (!state) return 0;
        if (state->dqb_curinodes == 0) return project;
    }
    return 0;
}

bool put_into_project(int file, std::uint32_t project)
{
    auto attributes = attributes_of(file);
    struct stat status {};
    if (!attributes || ::fstat(file, &status) != 0) return false;
    attributes->fsx_projid = project;
    if (S_ISDIR(status.st_mode)) attributes->fsx_xflags |= FS_XFLAG_PROJINHERIT;
    return ::ioctl(file, FS_IOC_FSSETXATTR, &*attributes) == 0;
}

void bound_project(int folder, std::uint32_t project, tree_bounds most)
{
    if_dqblk limits{};
    limits.dqb_valid = QIF_LIMITS;  // 0 is no limit
    if (most.bytes != no_bound) limits.dqb_bhardlimit = std::max<std::uint64_t>(1, most.bytes / QIF_DQBLKSIZE);
    if (most.files != no_bound) limits.dqb_ihardlimit = most.files + 1;
    ask_quota(folder, Q_SETQUOTA, project, &limits);
}

bool is_full(int folder, std::uint32_t project)
{
    const auto state = state_of(folder, project);
    if (!state) return false;
    const std::uint64_t most = state->dqb_bhardlimit * QIF_DQBLKSIZE;
    const bool no_room = most != 0 && state->dqb_curspace + small_file > most;
    return no_room || (state->dqb_ihardlimit != 0 && state->dqb_curinodes >= state->dqb_ihardlimit);
}

}  // namespace cmcp::sandbox
