#pragma once

#include <string_view>

namespace cmcp {

/// Python text to stand before a program. Defines _install_figures(), which makes matplotlib's show() save the open
/// figures that were not saved yet as plot-1.png, plot-2.png, … in the working folder. Costs nothing until matplotlib
/// is imported.
extern const std::string_view python_figures;

}  // namespace cmcp
