#include "jail/call_filters.hpp"

#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>

namespace cmcp::sandbox {
namespace {

// On top of the general filter, for runs without a cgroup: no System V shared memory and message queues, because the
// kernel keeps both while no process maps them, so that no look at the processes can count them. Likewise memfd_create,
// whose files live on in messages between sockets. Shared memory of /dev/shm stays, which has a size of its own.
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

}  // namespace

call_filters::call_filters(bool counted)
    : memory_is_counted(counted),
      general(compile_filter(true)),
      listed(compile_filter(false)),
      announcing_general(compile_announcing_filter(true)),
      announcing_listed(compile_announcing_filter(false)),
      uncounted(refuse_uncounted_memory())
{
}

std::vector<const bpf_program*> call_filters::choose(const program_view& programs) const
{
    std::vector<const bpf_program*> filters;
    // The first filter must still allow installing the second.
    filters.push_back(programs.all ? &general : &listed);
    if (!memory_is_counted) filters.push_back(&uncounted);
    return filters;
}

const bpf_program* call_filters::announcing(const program_view& programs) const
{
    return programs.all ? &announcing_general : &announcing_listed;
}

}  // namespace cmcp::sandbox
