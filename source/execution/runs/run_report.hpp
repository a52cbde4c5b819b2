#pragma once

#include "jsonrpc/json.hpp"
#include "runs/runner.hpp"

#include <string>

namespace cmcp {

/// Adds the members that the results of all run tools share: exit_code, success, duration_ms, cause, stdout_truncated,
/// stderr_truncated and, where known, signal, denied, output_uri, output_path, binary_bytes, peak_memory_bytes,
/// prepared, cpu_ms.
void add_run_fields(json::object& to, const run_outcome& outcome);

/// A sentence about the end of the run, with advice; empty when the run ended by itself, with any exit code.
/// `longest` is the most time that it can have, as run_terms::longest() says it.
std::string ending_sentence(const run_outcome& outcome, std::string_view longest);

}  // namespace cmcp
