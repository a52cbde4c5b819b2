#pragma once

#include "jail/jail.hpp"

namespace cmcp::sandbox {

/// In the process of a run whose start asks for a terminal: opens one of the cell's own, which controls the process
/// from then on, and sends its master over the plan's socket (run_request::channel). Nothing where none is asked for.
/// Throws step_failed.
void take_terminal(jail_plan& plan);

}  // namespace cmcp::sandbox
