#include "shells/shell_pattern.hpp"

#include <boost/regex.hpp>

#include <stdexcept>

namespace cmcp {

std::string pattern_problem(const std::string& pattern)
try {
    const boost::regex compiled(pattern.empty() ? "x" : pattern);
    return {};
} catch (const std::runtime_error& problem) {
    return problem.what();
}

// Boost's matcher counts its steps and keeps its stack on the heap, both bounded.
bool matches_pattern(const std::string& text, const std::string& pattern)
try {
    const boost::regex compiled(pattern);
    return boost::regex_search(text, compiled);
} catch (const std::runtime_error&) {
    return false;
}

}  // namespace cmcp
