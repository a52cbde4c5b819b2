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

/// The rights of a run on its view. `files`: those of an allow-list; none: all programs may be executed, also in
/// writable places.
landlock_rules rules_of(const run_request& request, const view_files* files);

}  // namespace cmcp::sandbox
