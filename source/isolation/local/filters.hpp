#pragma once

#include "jail/seccomp_filter.hpp"

#include <string>

/// The filters of `container-mcp run`, compiled with the program (filter_maker.cpp): that takes longer than a short
/// run.
namespace cmcp::sandbox {

bpf_program watched_filter();  ///< announces what call_watch hears of
bpf_program quiet_filter();    ///< where no listener is possible

/// The name of a system call of this architecture, or its number where it has no known name.
std::string name_of_call(int number);

}  // namespace cmcp::sandbox
