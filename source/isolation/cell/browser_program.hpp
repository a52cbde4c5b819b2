#pragma once

#include "jail/jail.hpp"

namespace cmcp::sandbox {

/// The last steps of a browser's process, in its cell and under its filter: makes the listeners, tries whether the
/// browser can make its own sandbox, hands both over and executes it. Throws step_failed.
[[noreturn]] void become_browser(jail_plan& plan);

}  // namespace cmcp::sandbox
