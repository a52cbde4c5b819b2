#pragma once

#include "jsonrpc/json.hpp"
#include "wire/run_result.hpp"

#include <string>

namespace cmcp {

struct settings;

/// Why a kernel ended, as a sentence without its stop.
std::string why_ended(const sandbox::run_result& end, const settings& config);

/// The same for the call that it ended with, and what the next one finds.
std::string lost_note(const sandbox::run_result& end, const settings& config);

/// The variables of the one before that a new kernel has, from its answer ("earlier", kernel_program.cpp). Empty:
/// there was nothing to have.
std::string fate_of_variables(const json::object& earlier);

}  // namespace cmcp
