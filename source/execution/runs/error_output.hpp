#pragma once

#include "wire/run_request.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// The refused paths that a run's error output names (strerror(3) of EROFS, EACCES and EPERM, as the C
/// library, shells and Python print it), a sentence each. The kernel keeps no record of a path that a mount refuses, so
/// this is the program's own word; paths at which the sandbox lets a run write, below `workspace`, /tmp and /dev/shm,
/// are left out, because the file's own mode refuses them.
std::vector<std::string> denied_paths(std::string_view error_output, std::string_view workspace);

/// Where a module that is not there can come from.
enum class module_source {
    server,             ///< a package of the server's machine
    server_or_sandbox,  ///< the same, or a sandbox of the caller's own
    sandbox             ///< install_packages_in_sandbox, since the run was in a sandbox
};

/// A sentence that says how to get the module that a Python run did not find, read from the last line of what it
/// printed as errors; empty: no module was missing.
std::string missing_module_hint(std::string_view errors, module_source from);

/// The run that a hint is about.
struct hint_subject {
    const sandbox::run_limits& limits;
    std::string_view memory_setting;  ///< that bounds the memory of one of its processes
    bool in_sandbox;                  ///< of the caller's own, not in the workspace
    bool failed;                      ///< its exit code was not 0
};

/// The one hint that a result has: on a missing module, a limit, a tool that does it better, or a command that there is
/// not. All but the limits only where the run failed; empty: there is nothing to say. Of a long output its beginning
/// and its end are looked at.
std::string hint_on(std::string_view errors, const std::vector<std::string>& denied, const hint_subject& of);

}  // namespace cmcp
