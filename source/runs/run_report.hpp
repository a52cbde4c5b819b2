#pragma once

#include "jsonrpc/json.hpp"
#include "runs/run_outcome.hpp"

#include <string>

namespace cmcp {

/// Adds what the results of all run tools have in common: exit_code, success, duration_ms, cause, stdout_truncated,
/// stderr_truncated and, where known, signal, denied, output_uri, output_path, peak_memory_bytes, prepared, cpu_ms.
void add_run_fields(json::object& to, const run_outcome& outcome);

/// A sentence that says what ended the run and what to do; empty when it ended by itself (whatever its exit code).
/// `timeout_setting` is the variable that bounds its time.
std::string ending_sentence(const run_outcome& outcome, std::string_view timeout_setting);

}  // namespace cmcp
