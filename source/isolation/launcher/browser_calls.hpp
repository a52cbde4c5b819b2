#pragma once

#include "jail/syscall_rules.hpp"

#include <vector>

namespace cmcp::sandbox {

/// The system calls of Chromium's processes, with those by which it makes its own sandbox: for a filter that answers
/// ENOSYS to every other call, so that C libraries newer than the list take an older way.
std::vector<syscall_rule> browser_calls();

}  // namespace cmcp::sandbox
