#pragma once

#include <string_view>

namespace cmcp::sandbox {

/// A test build of the launcher (CMCP_FAULTS, never the product) can be made to fail in setting up a layer, or to leave
/// it out without a word: so the tests show that the one ends the run before it begins, and that the other is noticed.
/// Throws step_failed in the first case, returns true in the second. In the product it is nothing.
#ifdef CMCP_FAULTS
bool left_out(std::string_view layer);
#else
constexpr bool left_out(std::string_view) { return false; }
#endif

}  // namespace cmcp::sandbox
