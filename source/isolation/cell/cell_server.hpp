#pragma once

#include "jail/jail.hpp"

#include <cstdint>
#include <functional>

namespace cmcp::sandbox {

/// The program that the first process of a cell has loaded already, and that a child of it becomes without an exec.
struct loaded_program {
    std::function<void()> before_fork, parent_after_fork;
    std::function<void(const run_request&)> prepare;  ///< in the child, for a start that is expected
    std::function<void()> rest;                       ///< there, where no start has come for a while
    std::function<void(bool as_expected)> become;     ///< there, with its start in the plan; does not return
    std::uint64_t own_data = 0;  ///< bytes of private memory before any run, which are not the run's
};

/// The first process of a cell, for its whole life: it makes the programs that the launcher orders
/// (cell/cell_orders.hpp), each in a session of its own and under filters of its own, and tells how they end. It ends
/// with the launcher.
///
/// In a cell that lasts the rest of a session is hung up half a second after its program. Elsewhere there is one
/// program, and everything ends with it.
[[noreturn]] void serve_cell(jail_plan& plan);
[[noreturn]] void serve_cell(jail_plan& plan, const loaded_program& loaded);

/// The same in a cell that Firejail has made, once the process has taken the steps that remain. Throws step_failed.
[[noreturn]] void serve_made_cell(jail_plan& plan);

}  // namespace cmcp::sandbox
