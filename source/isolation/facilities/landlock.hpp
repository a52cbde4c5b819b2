#pragma once

#include "posix/unique_fd.hpp"

#include <string>
#include <vector>

namespace cmcp::sandbox {

/// The Landlock version the kernel offers; 0 where it is absent or switched off.
int landlock_abi();

/// The paths that stay reachable; everything else is refused. A path that names a folder means all below it. Missing
/// paths are skipped.
struct landlock_rules {
    std::vector<std::string> read_execute;   ///< read, list, execute
    std::vector<std::string> read_only;      ///< read, list
    std::vector<std::string> read_write;     ///< all but execute; name a path in read_execute as well to add that
    std::vector<std::string> read_remove{};  ///< read, list, remove: a full folder that may only be emptied
    bool signals_outside = false;            ///< processes outside may be signalled
    bool whiteouts = false;  ///< read_write has devices, too, of which a filter leaves those of overlays
};

/// The half of rules that processes with the same files share, because to look up many files takes longer than to
/// apply it: of all files beneath `root`, which will be "/" for them, these alone may be executed. None where the
/// kernel has no Landlock. Throws std::system_error.
unique_fd prepare_execution(int root, const std::vector<std::string>& paths);

/// Confines the calling thread and its future children to `rules`, as far as the kernel's version knows the rights;
/// sets no_new_privs. `execution`: from prepare_execution(), and instead of rules.read_execute; -1: none. Also shuts
/// off signals to, and abstract sockets of, processes outside (version 6). True as well when the kernel has no
/// Landlock: the layer report tells. False: see errno.
bool apply_landlock(const landlock_rules& rules, int execution = -1);

}  // namespace cmcp::sandbox
