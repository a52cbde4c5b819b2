#pragma once

#include "jsonrpc/json.hpp"
#include "store/sandbox_record.hpp"

namespace cmcp {

/// A job for the tools that speak of jobs: handle, state, times, where it runs.
json::object job_json(const job_record& of);

/// The result of a job that has ended, as its tool would have answered; empty while it runs.
json::object job_result(const job_record& of);

/// Members of the output schemas.
json::object job_properties();

}  // namespace cmcp
