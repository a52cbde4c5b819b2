#include "facilities/capabilities.hpp"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace cmcp::sandbox {
namespace {

constexpr int possible_capabilities = 64;

// EINVAL is past the kernel's last capability; EPERM means without CAP_SETPCAP, where no_new_privs stands in for the
// bounding set.
bool clear_bounding_set(std::uint64_t but = 0)
{
    for (int c = 0; c != possible_capabilities; ++c)
        if ((but >> c & 1u) == 0 && ::prctl(PR_CAPBSET_DROP, c, 0, 0, 0) != 0) return errno == EINVAL || errno == EPERM;
    return true;
}

bool lock_securebits()
{
    constexpr unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                   SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                   SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
    return ::prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) == 0 || errno == EPERM;
}

bool clear_ambient_set() { return ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 || errno == EINVAL; }

bool clear_sets()
{
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
    return ::syscall(SYS_capset, &header, none) == 0;
}

constexpr std::uint64_t root_inside = 1ull << CAP_CHOWN | 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_DAC_READ_SEARCH |
                                      1ull << CAP_FOWNER | 1ull << CAP_FSETID | 1ull << CAP_KILL | 1ull << CAP_SETGID |
                                      1ull << CAP_SETUID | 1ull << CAP_SETPCAP | 1ull << CAP_NET_BIND_SERVICE |
                                      1ull << CAP_SYS_CHROOT | 1ull << CAP_SYS_PTRACE | 1ull << CAP_SETFCAP;
constexpr std::uint64_t for_nesting = 1ull << CAP_SYS_ADMIN;

bool keep_only(std::uint64_t capabilities)
{
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
    for (int half = 0; half != _LINUX_CAPABILITY_U32S_3; ++half) {
        const auto these = static_cast<std::uint32_t>(capabilities >> (32 * half));
        sets[half] = {these, these, 0};
    }
    return ::syscall(SYS_capset, &header, sets) == 0;
}

}  // namespace

bool keep_only_root_inside(bool nested)
{
    const std::uint64_t kept = root_inside | (nested ? for_nesting : 0);
    return clear_ambient_set() && clear_bounding_set(kept) && keep_only(kept);
}

bool drop_all_capabilities()
{
    return clear_ambient_set() && clear_bounding_set() && lock_securebits() && clear_sets();
}

namespace {

// Without CAP_FSETID the kernel takes set-uid and set-gid bits away from whatever is written to.
constexpr std::uint32_t ownership =
    1u << CAP_CHOWN | 1u << CAP_DAC_OVERRIDE | 1u << CAP_FOWNER | 1u << CAP_SETUID | 1u << CAP_SETGID;

}  // namespace

bool keep_only_ownership()
{
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
    if (::syscall(SYS_capget, &header, sets) != 0) return false;
    // In a user namespace of its own an ordinary user's process has all, and needs none.
    const std::uint32_t capabilities = ::geteuid() == 0 ? sets[0].permitted & ownership : 0;
    sets[0] = {capabilities, capabilities, 0};
    sets[1] = {};
    return clear_ambient_set() && clear_bounding_set() && ::syscall(SYS_capset, &header, sets) == 0;
}

bool has_only_ownership()
{
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
    if (::syscall(SYS_capget, &header, sets) != 0) return false;
    return ((sets[0].permitted | sets[0].inheritable) & ~ownership) == 0 &&
           (sets[1].permitted | sets[1].inheritable) == 0;
}

bool keep_only_sight(bool kills)
{
    constexpr std::uint32_t sight = 1u << CAP_SYS_PTRACE | 1u << CAP_DAC_READ_SEARCH;
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
    if (::syscall(SYS_capget, &header, sets) != 0) return false;
    const std::uint32_t capabilities = sets[0].permitted & (kills ? sight | 1u << CAP_KILL : sight);
    sets[0] = {capabilities, capabilities, 0};
    sets[1] = {};
    return clear_ambient_set() && ::syscall(SYS_capset, &header, sets) == 0;
}

}  // namespace cmcp::sandbox
