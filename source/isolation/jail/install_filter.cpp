#include "jail/seccomp_filter.hpp"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace cmcp::sandbox {
namespace {

long install(const bpf_program& filter, unsigned long flags)
{
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    sock_fprog program{static_cast<unsigned short>(filter.code.size()), const_cast<sock_filter*>(filter.code.data())};
    return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

}  // namespace

bool install_filter(const bpf_program& filter) { return install(filter, 0) == 0; }

unique_fd install_announcing_filter(const bpf_program& filter)
{
    constexpr unsigned long wait_killable =
        1ul << 5;  // Linux 5.19: signals do not disturb a call that waits for its answer
    unique_fd listener(static_cast<int>(install(filter, SECCOMP_FILTER_FLAG_NEW_LISTENER | wait_killable)));
    if (!listener && errno == EINVAL)
        listener.reset(static_cast<int>(install(filter, SECCOMP_FILTER_FLAG_NEW_LISTENER)));
    return listener;
}

}  // namespace cmcp::sandbox
