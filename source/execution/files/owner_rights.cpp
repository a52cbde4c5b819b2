#include "files/owner_rights.hpp"

#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace cmcp {

namespace {

// Those that the kernel asks for where the permissions of a file refuse; all are numbers below 32.
constexpr std::uint32_t over_permissions = 1u << CAP_CHOWN | 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH |
                                           1u << CAP_FOWNER | 1u << CAP_FSETID | 1u << CAP_MKNOD |
                                           1u << CAP_LINUX_IMMUTABLE;

using capability_sets = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

// The system calls act on this thread alone; the C library has no functions for them.
bool get(capability_sets& sets)
{
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    return ::syscall(SYS_capget, &header, sets.data()) == 0;
}

bool set(const capability_sets& sets)
{
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    return ::syscall(SYS_capset, &header, sets.data()) == 0;
}

}  // namespace

owner_rights::owner_rights(file_owner as) : active_(::geteuid() == 0)
{
    if (!active_) return;
    capability_sets sets{};
    if (!get(sets)) throw std::system_error(errno, std::generic_category(), "capget");
    for (std::size_t i = 0; i < sets.size(); ++i) effective_[i] = sets[i].effective;
    group_ = static_cast<gid_t>(::setfsgid(as.group));
    user_ = static_cast<uid_t>(::setfsuid(as.user));  // without CAP_SETUID it stays root without root's rights
    sets[0].effective &= ~over_permissions;
    if (set(sets)) return;
    const int error = errno;
    give_back();
    throw std::system_error(error, std::generic_category(), "capset");
}

owner_rights::~owner_rights()
{
    if (active_) give_back();
}

// The ids come first, because the kernel adds capabilities where the user becomes root again.
void owner_rights::give_back() const
{
    ::setfsuid(user_);
    ::setfsgid(group_);
    capability_sets sets{};
    if (!get(sets)) return;
    for (std::size_t i = 0; i < sets.size(); ++i) sets[i].effective = effective_[i];
    set(sets);
}

}  // namespace cmcp
