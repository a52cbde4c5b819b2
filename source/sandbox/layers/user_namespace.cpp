#include "sandbox/layers/layer_check.hpp"

namespace cmcp::sandbox {
namespace {

layer judge(const found_facts& found)
{
    layer own = own_namespace(found, "user");
    if (own.is == layer::state::on && !is_true(part(found.inside, "refused"), "unshare"))
        return degraded("a run can make further namespaces inside");
    return own;
}

}  // namespace

const layer_check user_namespace_check{"user_namespace", nullptr, judge};

}  // namespace cmcp::sandbox
