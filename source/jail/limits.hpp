#pragma once

#include "wire/run_request.hpp"

namespace cmcp::sandbox {

/// Seconds of processor time one process of a run may take: what is asked for, or twice the wall time.
std::chrono::seconds cpu_seconds(const run_limits& limits);

/// Sets the resource limits of this process and its descendants; never above the hard limits in force.
/// Throws step_failed.
void apply_limits(const run_limits& limits);

/// Only the limit of processor time; it can be lowered later.
void apply_cpu_limit(const run_limits& limits);

}  // namespace cmcp::sandbox
