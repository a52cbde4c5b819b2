#pragma once

#include "jail/seccomp_filter.hpp"

namespace cmcp::sandbox {

/// The filter of the server itself: what a run may call, and threads, openat2 and route look-ups; but no program may be
/// executed and no process made. Everything else fails with EPERM. Throws std::system_error.
bpf_program compile_server_filter();

}  // namespace cmcp::sandbox
