#include "sandbox/layers/layer_check.hpp"

namespace cmcp::sandbox {
namespace {

layer judge(const found_facts& found)
{
    const auto version = text(found.launcher, "firejail");
    if (!version) return not_asked("the native backend does not use it");
    // What it makes is told by the layers; here only whether it is the one that made it.
    const bool own = own_namespace(found, "pid").is == layer::state::on && own_namespace(found, "mnt").is == layer::state::on;
    return own ? on(*version + " makes the namespaces and mounts of a run") : off(*version + " runs programs unconfined here");
}

}  // namespace

const layer_check firejail_check{"firejail", nullptr, judge};

}  // namespace cmcp::sandbox
