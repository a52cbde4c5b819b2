#pragma once

#include "load/load_options.hpp"

#include <optional>

namespace cmcp::load {

/// Returns nothing when the program shall end with `status`, after help or a reported mistake.
std::optional<load_options> parse_command_line(int argc, char** argv, int& status);

}  // namespace cmcp::load
