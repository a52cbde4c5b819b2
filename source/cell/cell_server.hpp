#pragma once

#include "jail/jail.hpp"

#include <cstdint>
#include <functional>
#include <string_view>

namespace cmcp::sandbox {

/// The program that the first process of a cell has loaded already, and that a child of it becomes without an exec.
struct loaded_program {
    std::function<void()> before_fork, parent_after_fork;
    std::function<void(const run_request&)> prepare;  ///< in the child, for a start such as the one before
    std::function<void(bool as_expected)> become;     ///< there, with its start in the plan; does not return
    std::uint64_t own_data = 0;  ///< bytes of private memory before any run, which are not the run's
};

/// The first process of a lasting cell, for its whole life: it starts programs, each in a session of its own and under
/// filters of its own, and tells on each one's socket how it ended. The rest of a session is hung up half a second
/// later. It ends with the launcher.
///
/// A start is one packet, begin_executed or begin_loaded; its descriptors are: a sealed memory file with what
/// encode_begin() writes, the program's own control socket, output, error, [input], [script], [result]. Whatever comes
/// over that socket, or its end, kills the program with its session. Children stand by for the next start, which takes
/// less time then: one that becomes any program, and after a shell a held one. They are confined like programs, and
/// count as processes more than the run's limit.
///
/// An order of a socket (cell/cell_sockets.hpp) is answered at once.
[[noreturn]] void serve_cell(jail_plan& plan);
[[noreturn]] void serve_cell(jail_plan& plan, const loaded_program& loaded);

inline constexpr std::string_view begin_executed = "x", begin_loaded = "l";

}  // namespace cmcp::sandbox
