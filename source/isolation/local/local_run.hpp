#pragma once

#include "local/run_words.hpp"

namespace cmcp::sandbox {

/// Runs a program in a local sandbox with the streams of this process. The return is its exit code; where a signal
/// ended the program, the same one ends this process. Throws bad_policy, step_failed.
int run_locally(const run_words& words);

/// What keeps this machine from making the sandbox, in words for the user.
std::string explain_local_failure(const std::exception& failure);

}  // namespace cmcp::sandbox
