#pragma once

#include "sandboxes/kernel_manager.hpp"
#include "sandboxes/sandbox_runner.hpp"
#include "tools/run_tool.hpp"
#include "tools/sandbox_tool.hpp"

#include <string>
#include <vector>

/// The common parts of tools that run something in a sandbox.
namespace cmcp {

struct sandbox_code_input : sandbox_input, run_options {
    std::string code;
    bool stateful = false;
};

field<sandbox_code_input> stateful_field();

/// Adds what the results of runs in a sandbox have in common, also job_id of one that went to the background.
void add_sandbox_run_schema(json::object& schema);

/// run_result() with a hint where a Python module was missing.
tool_result sandbox_run_result(run_outcome run, std::string_view timeout_setting);

/// The value of the last expression and what became of the kernel.
void add_kernel_fields(tool_result& result, kernel_outcome& outcome);

/// Appends the images among `files` as image content, up to a limit, and links to all of them, and the results `files`,
/// `file_links`. Gives `result` its text content first.
awaitable<> add_files(tool_result& result, sandbox_manager& sandboxes, blocking_pool& pool, sandbox_record where,
                      std::vector<std::string> files);

}  // namespace cmcp
