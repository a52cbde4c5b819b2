#include "sandbox/layers/layer_check.hpp"

namespace cmcp::sandbox {
namespace {

layer judge(const found_facts& found)
{
    if (!is_true(found.launcher, "watchdog")) return off("the launcher does not watch its runs");
    const json::object& proc = part(found.inside, "proc");
    if (!proc.empty() && !is_true(proc, "there")) return degraded("time only: without /proc memory and processes cannot be seen");
    return on("the launcher watches memory, processes and time of a run");
}

}  // namespace

const layer_check watchdog_check{"watchdog", nullptr, judge};

}  // namespace cmcp::sandbox
