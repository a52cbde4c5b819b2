#include "jail/uncounted_memory.hpp"

#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>

namespace cmcp::sandbox {

bpf_program refuse_uncounted_memory()
{
    // The general filter has killed calls of foreign architectures by then: numbers mean what they say.
    constexpr sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
    constexpr sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    bpf_program filter;
    filter.code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    filter.code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_shmget, 3, 0));
    filter.code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_msgget, 2, 0));
    filter.code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 1, 0));
    filter.code.push_back(allow);
    filter.code.push_back(refuse);
    return filter;
}

}  // namespace cmcp::sandbox
