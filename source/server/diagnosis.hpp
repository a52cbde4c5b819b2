#pragma once

#include "jail/layer.hpp"

#include <string>
#include <vector>

namespace cmcp::command {

/// One cause, with every layer that it switches off or weakens.
struct finding {
    std::vector<std::string> layers;
    std::string cause;
    std::string command;  ///< what mends it; empty: no one command does
};

struct diagnosis {
    std::vector<finding> problems;  ///< what SANDBOX_REQUIRE names and is missing, and what is installed and fails
    std::vector<finding> remarks;   ///< what works without
    std::size_t on = 0;             ///< of the sandbox's own layers
    std::size_t total = 0;          ///< those that were asked for
};

diagnosis diagnose(const sandbox::layers& found, const std::vector<std::string>& required);

/// "18 of 19 layers on"
std::string count_of(const diagnosis& of);

/// The causes with their commands, in sentences.
std::string sentences_of(const std::vector<finding>& findings);

}  // namespace cmcp::command
