#include "jail/run_cause.hpp"

#include <signal.h>
#include <sys/wait.h>

namespace cmcp::sandbox {
namespace {

cause cause_of_signal(int signal, const evidence& known)
{
    if (signal == SIGXCPU) return cause::cpu_limit;
    if (signal == SIGXFSZ) return cause::file_size_limit;
    if (signal == SIGSYS) return cause::denied_syscall;
    if (signal != SIGKILL) return cause::signalled;
    if (known.out_of_memory) return cause::memory_limit;
    return known.cpu >= known.cpu_limit ? cause::cpu_limit : cause::signalled;
}

}  // namespace

void judge(const evidence& known, run_result& result)
{
    if (known.killed_for || !known.status) {
        // The call was answered by the end of the whole run; by itself the kernel would have sent this signal.
        result.signal = known.killed_for == cause::denied_syscall ? SIGSYS : SIGKILL;
        result.why = known.killed_for.value_or(known.out_of_memory ? cause::memory_limit : cause::signalled);
    } else if (WIFSIGNALED(*known.status)) {
        result.signal = WTERMSIG(*known.status);
        result.why = cause_of_signal(result.signal, known);
    } else {
        result.signal = 0;
        result.why = known.out_of_memory ? cause::memory_limit : cause::exited;
        // A program that copes with a refused fork has not died of it.
        if (known.out_of_processes && WEXITSTATUS(*known.status) != 0) result.why = cause::process_limit;
    }
    result.exit_code = result.signal != 0 ? 128 + result.signal : WEXITSTATUS(*known.status);
}

}  // namespace cmcp::sandbox
