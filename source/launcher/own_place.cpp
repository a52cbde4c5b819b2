#include "launcher/own_place.hpp"

#include "jail/apparmor.hpp"
#include "jail/namespaces.hpp"
#include "jail/setup_step.hpp"

#include <sched.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstring>

extern "C" int mount(const char*, const char*, const char*, unsigned long, const void*) noexcept;

namespace cmcp::sandbox {

void enter_own_namespaces(const identities& ids)
{
    const int kinds = CLONE_NEWNS | (ids.privileged() ? 0 : CLONE_NEWUSER);
    const id_pair self = ids.self();
    check(::unshare(kinds), ids.privileged() ? "mount namespace" : "user namespace");
    if (!ids.privileged()) {
        ::prctl(PR_SET_DUMPABLE, 1);
        write_id_maps("self", self, self, true);
        ::prctl(PR_SET_DUMPABLE, 0);
    }
    constexpr unsigned long recursive_private = 0x4000 | 0x40000;  // MS_REC | MS_PRIVATE
    check(::mount(nullptr, "/", nullptr, recursive_private, nullptr), "mount namespace");
}

std::string find_no_apparmor()
{
    if (!apparmor_enabled()) return "the kernel has no AppArmor, or it is switched off";
    for (const char* program : {"bash", "python3"}) {
        const std::string profile = apparmor_profile_for(program);
        const int error = try_apparmor(profile);
        if (error == ENOENT)
            return "the profile " + profile + " is not loaded: apparmor_parser -r the files of container/apparmor";
        if (error != 0) return "the profile " + profile + " cannot be entered: " + std::strerror(error);
    }
    return {};
}

}  // namespace cmcp::sandbox
