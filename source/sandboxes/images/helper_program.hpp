#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace cmcp {

struct helper_order {
    std::vector<std::string> argv;  ///< a program of PATH and its arguments
    std::filesystem::path folder;   ///< the only place where it may write
    std::uint64_t most_bytes;       ///< that the folder may hold

    /// Set: the program is in a network of its own, where an HTTP proxy on loopback is the only other end. The call
    /// is made in the child before its exec, with the listening socket for that proxy.
    std::function<void(int listener)> way_out{};
};

/// Runs a program of this machine to its end, confined to writing below one folder. Its standard output goes to
/// standard error. Throws image_error with what it said when it fails, is not installed, or writes too much.
void run_helper(const helper_order& order);

}  // namespace cmcp
