#include "sandbox/layers/layer_check.hpp"

#include "sandbox/probe_facts.hpp"

namespace cmcp::sandbox {
namespace {

void look(json::object& facts) { facts["landlock_levels"] = landlock_levels_left(); }

layer judge(const found_facts& found)
{
    const auto version = number(found.launcher, "landlock_abi").value_or(0);
    if (version == 0) return off("the kernel does not have it, or it is switched off");
    // A rule set in force takes one of the levels that can be stacked.
    const auto before = number(found.launcher, "landlock_levels").value_or(-1);
    const auto after = number(found.inside, "landlock_levels").value_or(-1);
    if (before < 0 || after < 0 || after >= before) return off("no rules are in force in a run");
    return on("ABI " + std::to_string(version));
}

}  // namespace

const layer_check landlock_check{"landlock", look, judge};

}  // namespace cmcp::sandbox
