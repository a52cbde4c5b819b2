#pragma once

#include <string>
#include <string_view>

namespace cmcp::connect {

/// A line of a client's file as it is shown: bearer tokens are masked, because a terminal's lines are kept and shown
/// elsewhere.
std::string masked_line(std::string_view line);

}  // namespace cmcp::connect
