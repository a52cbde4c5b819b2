#pragma once

#include "load/load_run.hpp"

#include <ostream>
#include <string>
#include <vector>

namespace cmcp::load {

/// The outcome of a threshold.
struct verdict {
    std::string expression;
    std::string value;        ///< what was measured, for people
    bool failed = false;      ///< also when there is nothing to measure
    bool by_default = false;  ///< nobody asked for it
};

/// Each threshold of the options, or the default one where there are none and sessions that call.
std::vector<verdict> judge(const load_options& options, const load_result& result);

bool any_failed(const std::vector<verdict>& all);

/// Each verdict gets a line with ✓ or ✗; the default threshold gets one only when it failed.
void print_verdicts(std::ostream& to, const std::vector<verdict>& all);

}  // namespace cmcp::load
