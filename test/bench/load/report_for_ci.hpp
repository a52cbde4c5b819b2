#pragma once

#include "load/comparison.hpp"
#include "load/load_run.hpp"
#include "load/verdict.hpp"

#include <string>
#include <vector>

namespace cmcp::load {

/// A test case for each condition and each comparison, as JUnit's XML.
std::string report_junit(const load_options& options, const load_result& result, const std::vector<verdict>& verdicts,
                         const std::vector<comparison>& compared);

/// The table of calls, the conditions and the comparison as Markdown.
std::string report_markdown(const load_options& options, const load_result& result,
                            const std::vector<verdict>& verdicts, const std::vector<comparison>& compared);

}  // namespace cmcp::load
