#include "sandbox/layers/layer_check.hpp"

#include <sys/prctl.h>

namespace cmcp::sandbox {
namespace {

void look(json::object& facts) { facts["no_new_privs"] = ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1; }

layer judge(const found_facts& found)
{
    return is_true(found.inside, "no_new_privs") ? on("set-uid programs give no rights") : off("not set");
}

}  // namespace

const layer_check no_new_privs_check{"no_new_privs", look, judge};

}  // namespace cmcp::sandbox
