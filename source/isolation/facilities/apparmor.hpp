#pragma once

#include <string>

namespace cmcp::sandbox {

/// The profile that the next exec of this process enters, else the one it is in; "unconfined"; empty where the kernel
/// has no AppArmor.
std::string apparmor_profile();

/// Whether AppArmor is in force on this machine.
bool apparmor_enabled();

/// The next exec of this process or of a child that it forks enters `profile` (the kernel's interface, no library).
/// Call it before no_new_privs. 0, or errno: ENOENT where no such profile is loaded.
int enter_apparmor_at_exec(const std::string& profile);

/// This process enters `profile` now, for good; call it before its first thread. 0, or errno as above.
int enter_apparmor(const std::string& profile);

/// The result that enter_apparmor_at_exec() would have, without a change to this process.
int try_apparmor(const std::string& profile);

/// Why runs cannot enter a profile of AppArmor; empty: they can.
std::string find_no_apparmor();

/// The profile for a run of the program `path`; container/apparmor/ holds them.
std::string apparmor_profile_for(const std::string& path);

}  // namespace cmcp::sandbox
