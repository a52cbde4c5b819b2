#pragma once

#include "wire/run_request.hpp"

#include <cstdint>

namespace cmcp::sandbox {

/// Seconds of processor time one process of a run may take: what is asked for, or twice the wall time.
std::chrono::seconds cpu_seconds(const run_limits& limits);

/// Sets the resource limits of this process and its descendants but that of processor time, which each payload has for
/// itself; never above the hard limits in force. Throws step_failed.
/// `own`: processes of the sandbox beside those of the run.
void apply_limits(const run_limits& limits, std::uint64_t own = 1);

/// Of these the number of processes and the size of core files alone. Throws step_failed.
void limit_number_and_cores(const run_limits& limits, std::uint64_t own);

/// Sets one limit (RLIMIT_…), soft and hard, never above the hard one in force. Throws step_failed(`step`).
void set_limit(int which, std::uint64_t value, const char* step);

/// The limit of a program in a lasting cell, whose first process has the cell's; `own_data`: bytes beyond it that are
/// not the program's. Throws step_failed.
void limit_process_memory(const run_limits& limits, std::uint64_t own_data);

/// The limit of processor time; it can be lowered later.
void apply_cpu_limit(const run_limits& limits);

}  // namespace cmcp::sandbox
