#pragma once

#include "jail/jail.hpp"

namespace cmcp::sandbox {

/// The first process of a lasting cell, for its whole life: it starts programs, each in a session of its own and under
/// filters of its own, and tells on each one's socket how it ended. The rest of a session is hung up half a second
/// later. It ends with the launcher.
///
/// A start is one packet without meaning of its own; its descriptors are: a sealed memory file with what encode_begin()
/// writes, the program's own control socket, output, error, [input], [script], [result]. Whatever comes over that
/// socket, or its end, kills the program with its session.
[[noreturn]] void serve_cell(jail_plan& plan);

}  // namespace cmcp::sandbox
