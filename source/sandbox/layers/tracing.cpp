#include "sandbox/layers/layer_check.hpp"

#include "posix/unique_fd.hpp"

#include <fcntl.h>

namespace cmcp::sandbox {
namespace {

bool cannot_read(const char* path)
{
    const unique_fd file(::open(path, O_RDONLY | O_CLOEXEC));
    return !file;
}

void look(json::object& facts) { facts["first_process_closed"] = cannot_read("/proc/1/mem") && cannot_read("/proc/1/environ"); }

layer judge(const found_facts& found)
{
    const json::object& refused = part(found.inside, "refused");
    const bool calls = is_true(refused, "ptrace") && is_true(refused, "process_vm_readv");
    if (!calls) return off("a run can trace processes");
    if (!is_true(found.inside, "first_process_closed")) return off("a run can read the memory of the sandbox's first process");
    return on("no process can be traced or read");
}

}  // namespace

const layer_check tracing_check{"tracing", look, judge};

}  // namespace cmcp::sandbox
