#pragma once

#include "wire/run_request.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace cmcp::sandbox {

/// A line of the code given by -c. The code before it says nothing about a run and is executed once, in the
/// interpreter that is kept loaded; a function `practise` that it defines is called then, so that its code is warm.
inline constexpr std::string_view run_begins = "\n# A run begins.\n";

/// A Python interpreter that is kept loaded, so that a run is a clone of it instead of a start of its own.
struct zygote_options {
    std::string path;     ///< absolute path of container-mcp-zygote
    std::string profile;  ///< which modules are loaded: stdlib, data (numpy, pandas, matplotlib too), or auto: one of
                          ///< each, the second once a run is best served by it
    std::uint32_t waiting = 2;  ///< clones that wait, confined, for the next run; 0: clone when a run comes
    std::uint32_t runs = 1000;  ///< clones of one interpreter; then a new one, with a new hash seed, takes its place
    run_request model;          ///< how it is started; it may stand in for runs of the same interpreter and program
};

}  // namespace cmcp::sandbox
