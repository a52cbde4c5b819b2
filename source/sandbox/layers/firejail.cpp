#include "sandbox/layers/layer_check.hpp"

namespace cmcp::sandbox {
namespace {

layer judge(const found_facts& found)
{
    const std::string state = text(found.launcher, "firejail").value_or("");
    return state.empty() ? not_asked("the native backend does not use it") : on(state);
}

}  // namespace

const layer_check firejail_check{"firejail", nullptr, judge};

}  // namespace cmcp::sandbox
