#pragma once

#include "jsonrpc/json.hpp"
#include "mcp/caller.hpp"
#include "mcp/request_io.hpp"

#include <string>

namespace cmcp {

class blocking_pool;

/// The context that a tool or a prompt is called in, beside its arguments. Lives as long as the call.
struct tool_context {
    const caller& who;
    request_io& io;
    std::string request_id;               ///< for the log: unique in this server
    json::object input_responses;         ///< 2026-07-28: answers to an earlier input_required, by key
    std::string request_state;            ///< 2026-07-28: verified state of an earlier input_required; empty: none
    std::size_t result_limit = 24 << 10;  ///< bytes of JSON that the result may have; more is shortened
    blocking_pool* pool = nullptr;        ///< for work on large data; null: none
    bool reads_jobs = false;              ///< a client that is shown job_poll: its call may be answered with a job
    bool is_program = false;              ///< a program reads the result, not a model
};

}  // namespace cmcp
