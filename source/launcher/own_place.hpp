#pragma once

#include "jail/identities.hpp"

#include <string>

namespace cmcp::sandbox {

/// Moves the launcher into a mount namespace (and, as an ordinary user, a user namespace) of its own: the
/// machine never sees the mounts made there, and they end with the launcher. Throws step_failed.
void enter_own_namespaces(const identities& ids);

/// Why runs cannot enter a profile of AppArmor; empty: they can.
std::string find_no_apparmor();

}  // namespace cmcp::sandbox
