#include "limits/limits.hpp"

#include "facilities/fault.hpp"
#include "facilities/setup_step.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace cmcp::sandbox {
namespace {

void set_limit(int which, rlim_t soft, rlim_t hard, const char* step)
{
    rlimit now{};
    check(::getrlimit(static_cast<__rlimit_resource>(which), &now), step);
    const rlim_t top = std::min(hard, now.rlim_max);
    const rlimit wanted{std::min(soft, top), top};
    check(::setrlimit(static_cast<__rlimit_resource>(which), &wanted), step);
}

}  // namespace

void set_limit(int which, std::uint64_t value, const char* step) { set_limit(which, value, value, step); }

void limit_process_memory(const run_limits& limits, std::uint64_t own_data)
{
    const std::uint64_t most = limits.process_memory != 0 ? limits.process_memory : limits.memory;
    if (!left_out("rlimits")) set_limit(RLIMIT_DATA, std::min(most, limits.memory) + own_data, "limit memory");
}

std::chrono::seconds cpu_seconds(const run_limits& limits)
{
    if (limits.cpu.count() > 0) return limits.cpu;
    return std::max(std::chrono::seconds(1), std::chrono::ceil<std::chrono::seconds>(limits.wall * 2));
}

void apply_cpu_limit(const run_limits& limits)
{
    const auto cpu = static_cast<rlim_t>(cpu_seconds(limits).count());
    set_limit(RLIMIT_CPU, cpu, cpu + 1, "limit processor time");  // SIGXCPU first, SIGKILL a second later
}

void limit_number_and_cores(const run_limits& limits, std::uint64_t own)
{
    // Less than any core file needs. A limit of 0 would still let the kernel hand the dump to the host's handler
    // (core(5)).
    set_limit(RLIMIT_CORE, 1, "limit core files");
    set_limit(RLIMIT_NPROC, limits.processes + own, "limit processes");
}

void apply_limits(const run_limits& limits, std::uint64_t own)
{
    limit_number_and_cores(limits, own);
    set_limit(RLIMIT_MSGQUEUE, 0, "limit message queues");
    set_limit(RLIMIT_MEMLOCK, 64 << 10, "limit locked memory");
    set_limit(RLIMIT_SIGPENDING, 256, "limit pending signals");
    set_limit(RLIMIT_STACK, 8 << 20, "limit the stack");
    set_limit(RLIMIT_NOFILE, limits.open_files, "limit open files");
    set_limit(RLIMIT_FSIZE, limits.file_size, "limit file size");
    // DATA, not AS: Node, Go and Java reserve far more address space than they use.
    set_limit(RLIMIT_DATA, limits.memory, "limit memory");
    set_limit(RLIMIT_NICE, 0, "limit priority");
    set_limit(RLIMIT_RTPRIO, 0, "limit priority");
}

}  // namespace cmcp::sandbox
