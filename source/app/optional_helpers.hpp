#pragma once

#include "async/asio.hpp"
#include "jail/layer.hpp"
#include "sandbox/backend.hpp"

#include <string>
#include <vector>

namespace cmcp {

/// Something that a tool needs at times and that this machine has not.
struct missing_helper {
    std::string name;  ///< "pip"
    std::string
        use;  ///< what does not work without it, a clause: "install_packages_in_sandbox installs no Python packages"
    std::string package;  ///< Debian's: "python3-pip"
};

/// Which of the optional helpers are missing: programs by their files, Python modules by asking the interpreter in the
/// sandbox.
awaitable<std::vector<missing_helper>> find_missing_helpers(sandbox::backend& backend, std::string interpreter);

/// The same as a row of doctor's report: on when nothing is missing, else degraded.
awaitable<sandbox::layer> examine_helpers(sandbox::backend& backend, std::string interpreter);

}  // namespace cmcp
