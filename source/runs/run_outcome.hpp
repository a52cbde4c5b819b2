#pragma once

#include "wire/run_request.hpp"
#include "wire/run_result.hpp"

#include <string>

namespace cmcp {

/// How a run ended and what it printed (valid UTF-8, head and tail where it was long).
struct run_outcome {
    sandbox::run_result end;
    sandbox::run_limits limits;  ///< under which it ran
    std::string out;
    std::string err;
    bool out_truncated = false;
    bool err_truncated = false;
    std::string output_path;  ///< of the file with all output, relative to the workspace; empty: none
    std::string output_uri;   ///< the same for resources/read
    std::string refused;      ///< not empty: it did not begin; a sentence that says what to do
};

}  // namespace cmcp
