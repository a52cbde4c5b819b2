#pragma once

#include "kernels/kernel_process.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cmcp {

/// The part of an interpreter's state that went to another one.
struct kernel_transfer {
    struct left_behind {
        std::string name;  ///< of a variable, or "figure 1"
        std::string reason;
    };

    bool done = false;  ///< all but what is in left_out
    std::uint64_t variables = 0;
    std::uint64_t figures = 0;
    std::uint64_t bytes = 0;
    std::vector<left_behind> left_out;
    std::string problem;  ///< why nothing went
};

/// Copies the variables, imports and open figures of a kernel that runs nothing to a fresh one of the same interpreter.
/// A variable that cannot be written or made again is left out and named; the giver stays as it was. Where nothing
/// went, the receiver has been ended.
awaitable<kernel_transfer> transfer_state(std::shared_ptr<kernel_process> from, std::shared_ptr<kernel_process> to,
                                          std::chrono::milliseconds limit);

}  // namespace cmcp
