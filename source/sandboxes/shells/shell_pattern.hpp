#pragma once

#include <cstddef>
#include <string>

namespace cmcp {

inline constexpr std::size_t longest_pattern = 100;  ///< bytes of a regular expression (Perl's syntax)

/// Why it cannot be compared; empty: it can.
std::string pattern_problem(const std::string& pattern);

/// Whether a part of the text fits. False, too, where finding that out takes more than some milliseconds: a caller's
/// pattern may be made to take ages.
bool matches_pattern(const std::string& text, const std::string& pattern);

}  // namespace cmcp
