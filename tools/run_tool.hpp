#pragma once

#include "runs/runner.hpp"
#include "sandboxes/job_manager.hpp"
#include "tools/described_tool.hpp"

#include <string>

/// The common parts of tools that run something. Their inputs derive from run_options.
namespace cmcp {

field<run_options> timeout_field();
field<run_options> max_output_field();
field<run_options> background_field();  ///< run_in_background

/// Adds what all results of runs have in common to an output schema.
void add_run_output_schema(json::object& schema);

/// Adds job_id as what comes instead of a result when a run went to the background.
void add_job_schema(json::object& schema);

/// The input of tools that act on a job.
struct job_input {
    std::string job_id;
};

field<job_input> job_id_field();

json::object job_json(const job_record& job);       ///< handle, state, times, where it runs
void add_job_properties(json::object& properties);  ///< of job_json(), to an output schema

/// Waits for `work`, or with `in_background` begins a job that does it and answers at once. `work` is called once.
/// Throws sandbox_error where `jobs` is null and a job is asked for.
awaitable<tool_result> run_or_begin_job(job_manager* jobs, tool_context& context, bool in_background, new_job job,
                                        job_manager::work work);

/// {stdout, stderr} and what all results of runs have in common; is_error where the run did not end by itself.
tool_result run_result(run_outcome run, std::string_view timeout_setting, std::string hint = {});

}  // namespace cmcp
