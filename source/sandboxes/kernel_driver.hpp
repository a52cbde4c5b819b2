#pragma once

#include <string_view>

namespace cmcp {

/// The Python program of a kernel: takes code over the socket that is its descriptor 3 and runs it in one namespace
/// that stays. Messages are a length of four bytes, big end first, and JSON:
///   {"op": "run", "id", "code", "mark"} → {"id", "ok", "exit", "result"?}, after `mark` was printed on both streams
///   {"op": "give" or "take", "id", "program", "mark", …} → {"id", "ok", "exit", "state" or "reason"}: see
///   kernel_state.hpp.
///       State goes as pieces: a length whose highest bit is set, then so many bytes; a piece of none is the end.
///   {"op": "interrupt"}: KeyboardInterrupt in the code that runs
/// Ends when the socket is closed. Its one argument is the workspace's path inside, which is made importable.
extern const std::string_view kernel_driver;

}  // namespace cmcp
