#pragma once

#include <string_view>

namespace cmcp {

/// The Python program of a kernel: takes code over the socket that is its descriptor 3 and runs it in one namespace that
/// stays. Messages are a length of four bytes, big end first, and JSON:
///   {"op": "run", "id", "code", "mark"} → {"id", "ok", "exit", "result"?}, after `mark` was printed on both streams
///   {"op": "interrupt"}: KeyboardInterrupt in the code that runs
/// Ends when the socket is closed. Its one argument is the workspace's path inside, which is made importable.
extern const std::string_view kernel_driver;

}  // namespace cmcp
