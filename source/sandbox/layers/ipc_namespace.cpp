#include "sandbox/layers/layer_check.hpp"

namespace cmcp::sandbox {
namespace {

layer judge(const found_facts& found) { return own_namespace(found, "ipc"); }

}  // namespace

const layer_check ipc_namespace_check{"ipc_namespace", nullptr, judge};

}  // namespace cmcp::sandbox
