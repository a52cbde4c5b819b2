#include "sandbox/layers/layer_check.hpp"

#include "sandbox/apparmor.hpp"

namespace cmcp::sandbox {
namespace {

void look(json::object& facts) { facts["apparmor"] = apparmor_profile(); }

layer judge(const found_facts& found)
{
    const auto why_not = text(found.launcher, "apparmor");
    if (!why_not) return not_asked("no profile is applied");
    if (!why_not->empty()) return off(*why_not);
    const std::string profile = text(found.inside, "apparmor").value_or("");
    if (profile.empty() || profile.starts_with("unconfined")) return off("no profile is in force in a run");
    if (profile.find("(complain)") != std::string::npos) return degraded("profile " + profile);
    return on("profile " + profile);
}

}  // namespace

const layer_check apparmor_check{"apparmor", look, judge};

}  // namespace cmcp::sandbox
