#include "sandbox/layers/layer_check.hpp"

namespace cmcp::sandbox {
namespace {

layer judge(const found_facts& found)
{
    if (!is_true(found.launcher, "workspace_quota")) return off("the launcher does not count what workspaces hold");
    return on("the launcher counts what a workspace holds and ends runs that fill it");
}

}  // namespace

const layer_check workspace_quota_check{"workspace_quota", nullptr, judge};

}  // namespace cmcp::sandbox
