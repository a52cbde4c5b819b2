#pragma once

#include <string_view>

namespace cmcp {

/// Python programs for a kernel (kernel_driver) that give the state of one interpreter to another of the same version,
/// as pickles that go through the server. Each is `kernel_state_common` and what follows it; they define a function
/// that takes the message and gives what the answer's `state` is:
///   give {"left_out": [name]} → {"variables", "figures", "problems": [{"name", "reason"}]}, the state before it
///   take {} → {} or {"problem": {"name", "reason"}}: nothing was taken, as that variable could not be made again
/// Beyond what pickle does by itself, functions and classes that were defined in the kernel go as they are; names stay
/// shared where variables share an object, but for arrays that are views of one memory.
extern const std::string_view kernel_state_common;
extern const std::string_view kernel_state_give;
extern const std::string_view kernel_state_take;

}  // namespace cmcp
