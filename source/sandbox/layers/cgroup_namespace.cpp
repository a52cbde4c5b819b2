#include "sandbox/layers/layer_check.hpp"

namespace cmcp::sandbox {
namespace {

layer judge(const found_facts& found) { return own_namespace(found, "cgroup"); }

}  // namespace

const layer_check cgroup_namespace_check{"cgroup_namespace", nullptr, judge};

}  // namespace cmcp::sandbox
