#include "sandbox/layers/layer_check.hpp"

namespace cmcp::sandbox {
namespace {

layer judge(const found_facts& found)
{
    const auto outside = number(part(found.inside, "identity"), "outside_uid").value_or(-1);
    const auto launcher = number(found.launcher, "uid").value_or(-1);
    if (outside < 0 || launcher < 0) return off("the user outside cannot be seen without /proc");
    if (outside == launcher) return off("a run is the server's user outside: without privilege there is no other");
    return on("user " + std::to_string(outside) + " outside");
}

}  // namespace

const layer_check own_uid_check{"own_uid", nullptr, judge};

}  // namespace cmcp::sandbox
