#pragma once

#include <string>
#include <string_view>

namespace cmcp::connect {

/// The change as a unified diff with one hunk and three lines around it; empty where the texts are the same.
/// `name` is the file's. Bearer tokens are masked, because a terminal's lines are kept and shown elsewhere.
std::string line_diff(std::string_view before, std::string_view after, const std::string& name);

}  // namespace cmcp::connect
