#pragma once

#include "zygote/interpreter.hpp"
#include "zygote/working_set.hpp"

namespace cmcp::sandbox {

/// Forks a child that is started like `argv` and runs a short program as a run does, and returns what it came to have
/// of its own; nothing where it did not come to its end. Throws step_failed when no child can be made.
working_set rehearse(interpreter& python, const std::vector<std::string>& argv);

}  // namespace cmcp::sandbox
