#include "sandbox/layers/layer_check.hpp"

namespace cmcp::sandbox {
namespace {

layer judge(const found_facts& found)
{
    return own_namespace(found, "uts", "host name " + text(part(found.inside, "identity"), "host_name").value_or("unknown"));
}

}  // namespace

const layer_check uts_namespace_check{"uts_namespace", nullptr, judge};

}  // namespace cmcp::sandbox
