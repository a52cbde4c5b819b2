#pragma once

#include "async/asio.hpp"
#include "probe/layer.hpp"
#include "sandbox/backend.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// Something that a tool needs at times and that this machine has not.
struct missing_helper {
    std::string_view name;     ///< "pip"
    bool module;               ///< of Python; else a program
    std::string_view package;  ///< Debian's: "python3-pip"
    std::string_view use;      ///< what does not work without it: "install_packages_in_sandbox installs no Python …"
};

/// Which of the optional helpers are missing: programs by their files, Python modules by asking the interpreter in the
/// sandbox.
awaitable<std::vector<missing_helper>> find_missing_helpers(sandbox::backend& backend, std::string interpreter);

/// The same as a row of doctor's report: on when nothing is missing, else degraded.
awaitable<sandbox::layer> examine_helpers(sandbox::backend& backend, std::string interpreter);

}  // namespace cmcp
