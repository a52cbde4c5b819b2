#include "sandbox/layers/layer_check.hpp"

namespace cmcp::sandbox {
namespace {

layer judge(const found_facts& found)
{
    const auto pid = number(part(found.inside, "identity"), "pid").value_or(-1);
    return own_namespace(found, "pid", "the program is process " + std::to_string(pid));
}

}  // namespace

const layer_check pid_namespace_check{"pid_namespace", nullptr, judge};

}  // namespace cmcp::sandbox
