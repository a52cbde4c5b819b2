#pragma once

#include "facilities/landlock.hpp"
#include "jail/program_view.hpp"
#include "wire/run_request.hpp"

#include <array>

namespace cmcp::sandbox {

/// The devices of a run.
inline constexpr std::array run_devices{"/dev/null",   "/dev/zero",    "/dev/full",
                                        "/dev/random", "/dev/urandom", "/dev/tty"};

/// The rights of a run on its view. `files`: those of an allow-list; none: all programs may be executed, also in
/// writable folders.
landlock_rules rules_of(const run_request& request, const view_files* files);

}  // namespace cmcp::sandbox
