#pragma once

#include "probe/layer.hpp"

#include <string>
#include <vector>

namespace cmcp::command {

/// A cause, with every layer that it switches off or weakens.
struct finding {
    std::vector<std::string> layers;
    std::string cause;
    std::string command;  ///< the command that mends it; empty: there is no such command
};

struct diagnosis {
    std::vector<finding> problems;  ///< missing layers that SANDBOX_REQUIRE names; installed services that fail
    std::vector<finding> remarks;   ///< layers and services that may be missing
    std::size_t on = 0;             ///< of the sandbox's own layers
    std::size_t total = 0;          ///< layers that are not switched off by a setting
};

diagnosis diagnose(const sandbox::layers& layers, const std::vector<std::string>& required);

/// The causes with their commands, in sentences.
std::string sentences_of(const std::vector<finding>& findings);

}  // namespace cmcp::command
