#include "jail/verdict.hpp"

#include <signal.h>
#include <sys/wait.h>

namespace cmcp::sandbox {
namespace {

cause cause_of_signal(int signal, const evidence& found)
{
    switch (signal) {
        case SIGXCPU:
            return cause::cpu_limit;
        case SIGXFSZ:
            return cause::file_size_limit;
        case SIGSYS:
            return cause::denied_syscall;
        default:
            break;
    }
    if (signal != SIGKILL) return cause::signalled;
    if (found.out_of_memory) return cause::memory_limit;
    return found.cpu >= found.cpu_limit ? cause::cpu_limit : cause::signalled;
}

}  // namespace

void judge(const evidence& found, run_result& result)
{
    if (found.killed_for || !found.status) {
        // The call was answered by the end of the whole run; by itself the kernel would have sent this signal.
        result.signal = found.killed_for == cause::denied_syscall ? SIGSYS : SIGKILL;
        result.why = found.killed_for.value_or(found.out_of_memory ? cause::memory_limit : cause::signalled);
    } else if (WIFSIGNALED(*found.status)) {
        result.signal = WTERMSIG(*found.status);
        result.why = cause_of_signal(result.signal, found);
    } else {
        result.signal = 0;
        result.why = found.out_of_memory ? cause::memory_limit : cause::exited;
        // A program that copes with a refused fork has not died of it.
        if (found.out_of_processes && WEXITSTATUS(*found.status) != 0) result.why = cause::process_limit;
    }
    result.exit_code = result.signal != 0 ? 128 + result.signal : WEXITSTATUS(*found.status);
}

}  // namespace cmcp::sandbox
