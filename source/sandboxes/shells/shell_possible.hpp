#pragma once

#include "runs/sandbox_error.hpp"
#include "wire/run_request.hpp"

#include <chrono>

namespace cmcp {

/// Makes `request`, that of a run in a sandbox, last as long as its shell. Throws sandbox_error (NotAvailable) where
/// the sandbox has no cell that lasts.
inline void become_shell(sandbox::run_request& request)
{
    constexpr std::chrono::hours longest(24 * 3650);
    if (request.cell.empty())
        throw sandbox_error(
            "NotAvailable",
            "Runs of this sandbox share no processes (Firejail, or a container without a /proc of its own), so "
            "it has no shells; use execute_terminal_command "
            "without shell.");
    request.limits.wall = longest;
}

}  // namespace cmcp
