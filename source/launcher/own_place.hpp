#pragma once

#include "jail/identities.hpp"

#include <string>

namespace cmcp::sandbox {

/// Moves the launcher into a mount namespace (and, as an ordinary user, a user namespace) of its own: what it prepares
/// there is never seen by the machine, and ends with it. Throws step_failed.
void enter_own_namespaces(const identities& ids);

/// Why runs cannot enter a profile of AppArmor; empty: they can.
std::string find_no_apparmor();

}  // namespace cmcp::sandbox
