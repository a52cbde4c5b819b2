#pragma once

#include "mcp/tool.hpp"
#include "sandboxes/job_manager.hpp"
#include "sandboxes/kernel_manager.hpp"
#include "sandboxes/sandbox_error.hpp"
#include "sandboxes/sandbox_runner.hpp"

#include <string>

namespace cmcp {

/// What the tools of sandboxes have in common: refusals become results with `error_type`.
class sandbox_tool : public tool {
public:
    explicit sandbox_tool(tool_definition definition) : definition_(std::move(definition)) {}

    const tool_definition& definition() const final { return definition_; }
    awaitable<tool_result> call(tool_context& context, json::object arguments) final;

protected:
    virtual awaitable<tool_result> act(tool_context& context, json::object arguments) = 0;
    virtual tool_result refusal(const std::string& type, const std::string& sentence) const;
    void describe_as(std::string description) { definition_.description = std::move(description); }

private:
    tool_definition definition_;
};

/// A tool that runs something: with run_in_background it answers at once and the run goes on as a job.
class sandbox_run_tool : public sandbox_tool {
public:
    /// `jobs` null: jobs are not offered.
    sandbox_run_tool(tool_definition definition, job_manager* jobs) : sandbox_tool(std::move(definition)), jobs_(jobs)
    {
    }

protected:
    /// What a job of this call is called and where it runs; throws sandbox_error when it cannot begin.
    virtual new_job describe(const caller& who, const json::object& arguments) = 0;
    virtual awaitable<tool_result> run(caller who, request_io& io, std::string label, json::object arguments) = 0;

private:
    awaitable<tool_result> act(tool_context& context, json::object arguments) final;
    awaitable<tool_result> run_answered(caller who, request_io& io, std::string label, json::object arguments);

    job_manager* jobs_;
};

/// Refuses {success: false, error, error_type}.
tool_result sandbox_failure(const std::string& type, const std::string& sentence);

/// The answer of a call that went to the background.
tool_result job_started(const job_record& made);

// Members of schemas.
json::object sandbox_id_schema(
    std::string_view description = "Handle or name of a sandbox, as create_sandbox and list_sandboxes give it");
json::object timeout_schema();
json::object max_output_schema();
json::object stateful_schema();
bool is_set(const json::object& arguments, std::string_view name);  ///< a boolean argument that is true
json::object job_id_schema();

/// Adds job_id as what comes instead of a result when a run went to the background.
void add_job_schema(json::object& schema);

/// Adds what the results of runs have in common, also job_id of one that went to the background.
void add_sandbox_run_schema(json::object& schema);

/// {stdout, stderr} and what all runs have in common; is_error where it did not end by itself.
tool_result sandbox_run_result(sandbox_outcome& outcome, std::string_view timeout_setting);

/// The value of the last expression and what became of the kernel.
void add_kernel_fields(tool_result& made, kernel_outcome& outcome);

/// Appends the images among `files` as image content, up to a limit, and links to all of them, and the results `files`,
/// `file_links`. Gives `made` its text content first.
awaitable<> add_files(tool_result& made, sandbox_manager& sandboxes, blocking_pool& pool, sandbox_record where,
                      std::vector<std::string> files);

json::object sandbox_json(const sandbox_record& of);
std::string time_text(double seconds);  ///< ISO 8601, UTC

}  // namespace cmcp
