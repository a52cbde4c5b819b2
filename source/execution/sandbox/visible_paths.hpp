#pragma once

#include "facilities/landlock.hpp"

#include <string>

namespace cmcp::sandbox {

/// Moves this process into a mount namespace whose root holds the paths of `visible` alone, each at its own path and
/// those of read_only for reading, so that nothing else can be named, not even to ask for its mode or to change it. An
/// ordinary user's process gets a user namespace as well, in which it has the ids that it had. What is mounted later on
/// the machine below a path of read_write shows. Folders that are open stay open only where they are visible. Returns
/// why that is impossible, and then nothing has changed; empty: done. Before the first thread.
std::string show_only(const landlock_rules& visible);

}  // namespace cmcp::sandbox
