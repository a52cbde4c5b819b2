#include "sandbox/layers/layer_check.hpp"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cmcp::sandbox {
namespace {

constexpr int possible_capabilities = 64;

// Counted rather than copied: what matters is that none is left.
void look(json::object& facts)
{
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
    ::syscall(SYS_capget, &header, sets);
    int held = 0, bounding = 0, ambient = 0;
    for (const auto& s : sets) held += __builtin_popcount(s.effective | s.permitted | s.inheritable);
    for (int c = 0; c != possible_capabilities; ++c) {
        bounding += ::prctl(PR_CAPBSET_READ, c, 0, 0, 0) == 1;
        ambient += ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, c, 0, 0) == 1;
    }
    facts["capabilities"] = json::object{{"held", held}, {"bounding", bounding}, {"ambient", ambient}};
}

layer judge(const found_facts& found)
{
    const json::object& sets = part(found.inside, "capabilities");
    if (number(sets, "held") != 0 || number(sets, "ambient") != 0) return off("a run holds capabilities");
    if (number(sets, "bounding") != 0)
        return degraded("none is held; the bounding set is not empty, so only no_new_privs keeps them away");
    return on("none, and none can be gained");
}

}  // namespace

const layer_check capabilities_check{"capabilities", look, judge};

}  // namespace cmcp::sandbox
