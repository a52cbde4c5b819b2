#include "sandbox/layers/layer_check.hpp"

namespace cmcp::sandbox {
namespace {

layer judge(const found_facts& found)
{
    const json::object& refused = part(found.inside, "refused");
    if (!is_true(refused, "keyctl") || !is_true(refused, "add_key")) return off("a run can use the kernel's keys");
    return on("the kernel's keys cannot be used");
}

}  // namespace

const layer_check keyrings_check{"keyrings", nullptr, judge};

}  // namespace cmcp::sandbox
