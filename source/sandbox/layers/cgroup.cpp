#include "sandbox/layers/layer_check.hpp"

namespace cmcp::sandbox {
namespace {

layer judge(const found_facts& found)
{
    const auto why_not = text(found.launcher, "cgroup");
    if (!why_not) return off("the launcher places runs into none");
    if (!why_not->empty()) return off(*why_not);
    return on("memory and processes of a run are limited together");
}

}  // namespace

const layer_check cgroup_check{"cgroup", nullptr, judge};

}  // namespace cmcp::sandbox
