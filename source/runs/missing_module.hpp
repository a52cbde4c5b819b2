#pragma once

#include <string>

namespace cmcp {

/// Where a module that is not there can come from.
enum class module_source {
    server,             ///< a package of the server's machine
    server_or_sandbox,  ///< the same, or a sandbox of the caller's own
    sandbox             ///< install_packages_in_sandbox, since the run was in a sandbox
};

/// A sentence that says how to get the module that a Python run did not find, read from the last line of what it
/// printed as errors; empty: no module was missing.
std::string missing_module_hint(const std::string& errors, module_source from);

}  // namespace cmcp
