#pragma once

#include "interpreter.hpp"
#include "working_set.hpp"

namespace cmcp::sandbox {

/// Forks a child that runs a short program as a run does, and returns what it came to have of its own; nothing where it
/// did not come to its end. Throws step_failed when no child can be made.
working_set rehearse(interpreter& python);

}  // namespace cmcp::sandbox
