#include "sandbox/layers/layer_check.hpp"

namespace cmcp::sandbox {
namespace {

layer judge(const found_facts& found)
{
    const bool known = number(part(found.launcher, "namespaces"), "time").has_value();
    return known ? own_namespace(found, "time") : off("the kernel has no time namespaces");
}

}  // namespace

const layer_check time_namespace_check{"time_namespace", nullptr, judge};

}  // namespace cmcp::sandbox
