#pragma once

#include "jail/landlock.hpp"
#include "jail/program_view.hpp"
#include "wire/run_request.hpp"

#include <array>

namespace cmcp::sandbox {

/// The devices of a run, below /dev.
inline constexpr std::array run_devices{"null", "zero", "full", "random", "urandom", "tty"};

/// Folders of programs beside /usr: of their own, or links into it.
inline constexpr std::array system_folders{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

/// What a run may reach of all that it sees. `files`: under an allow-list, those that it may see; none: all programs,
/// also in writable places.
landlock_rules rules_of(const run_request& request, const view_files* files);

}  // namespace cmcp::sandbox
