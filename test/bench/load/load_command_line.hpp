#pragma once

#include "load/load_options.hpp"

#include <optional>

namespace cmcp::load {

/// Nothing when the program is to end with `status` (help, or a mistake that has been told).
std::optional<load_options> parse_command_line(int argc, char** argv, int& status);

}  // namespace cmcp::load
