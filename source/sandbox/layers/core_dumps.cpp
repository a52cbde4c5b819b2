#include "sandbox/layers/layer_check.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace cmcp::sandbox {
namespace {

// A limit of one byte also keeps the kernel from handing the dump to the host's handler, which a limit of 0 does not
// (core(5)); that limit must stay.
bool limit_stays()
{
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    rlimit now{};
    return ::getrlimit(RLIMIT_CORE, &now) == 0 && now.rlim_cur == 1 && now.rlim_max == 1;
}

bool crash_leaves_none()
{
    const pid_t child = ::fork();
    if (child == 0) {
        ::raise(SIGQUIT);
        ::_exit(0);
    }
    int status = 0;
    while (child > 0 && ::waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return false;
    return child > 0 && WIFSIGNALED(status) && !WCOREDUMP(status);
}

void look(json::object& facts)
{
    facts["core_limit_stays"] = limit_stays();
    facts["crash_leaves_no_core"] = crash_leaves_none();
}

layer judge(const found_facts& found)
{
    if (!is_true(found.inside, "crash_leaves_no_core")) return off("a program that crashes leaves a core dump");
    if (!is_true(found.inside, "core_limit_stays")) return degraded("no files, but a handler of the host may be given the dump");
    return on("none, neither as file nor to a handler of the host");
}

}  // namespace

const layer_check core_dumps_check{"core_dumps", look, judge};

}  // namespace cmcp::sandbox
