#pragma once

#include "kernels/kernel_manager.hpp"
#include "sandboxes/job_manager.hpp"
#include "sandboxes/sandbox_runner.hpp"
#include "tools/sandbox_tools.hpp"

#include <string>
#include <vector>

/// The common parts of tools that run something.
namespace cmcp {

struct run_input : run_options {
    /// Of the job that runs it, which keeps its beginning.
    std::string job_label() const { return code.substr(0, 1000); }

    std::string code;  ///< or a command
};

struct sandbox_run_input : sandbox_input, run_input {
    bool stateful = false;
    bool shell = false;    ///< in the sandbox's shell
    std::string service;   ///< the name under which it runs whenever the sandbox does
    sandbox_record where;  ///< the sandbox, before the run begins
};

field<run_options> timeout_field();
field<run_options> max_output_field();
field<run_options> background_field();  ///< run_in_background
field<sandbox_run_input> stateful_field();

/// The output schema with what all results of runs have in common.
json::object with_run_output(json::object schema);

inline constexpr std::string_view about_job_id = "Handle of a run in the background";

/// The output schema with job_id as what comes instead of a result when a run went to the background.
json::object with_job_id(json::object schema);

/// The output schema with what the results of runs in a sandbox have in common, also job_id.
json::object with_sandbox_run_output(json::object schema);

/// A tool that runs something, at once or with run_in_background as a job.
template <class Input>
struct run_process {
    std::string tool;
    job_manager* jobs;  ///< null: nothing runs in the background
    std::function<awaitable<tool_result>(caller, request_io&, Input)> run;
    std::function<awaitable<sandbox_record>(caller, std::string id)> find{};  ///< the sandbox of a sandbox_run_input
    bool keeps_timeout = false;  ///< a run whose call names a timeout is ended by it, as an earlier system promised
};

/// Begins a job and answers at once. Throws sandbox_error where `jobs` is null.
awaitable<tool_result> begin_job(job_manager* jobs, tool_context& context, new_job job, job_manager::work work);

/// The answer of a call that has become a job.
tool_result answer_with_job(const job_manager::end_of_call& call);

template <class Input>
awaitable<tool_result> run_or_begin(run_process<Input> how, tool_context& context, Input input)
{
    new_job job{.tool = how.tool, .label = input.job_label()};
    if constexpr (std::derived_from<Input, sandbox_run_input>) {
        auto where = co_await how.find(context.who, input.sandbox_id);
        job.sandbox = where.id;
        input.where = std::move(where);
    }
    input.request_id = context.request_id;
    if (!input.max_output) input.max_output = context.result_limit;
    input.may_outlive = !input.background && context.reads_jobs && how.jobs != nullptr && how.jobs->becomes_jobs() &&
                        !(how.keeps_timeout && input.timeout);
    if (!input.background && !input.may_outlive) {
        auto result = co_await how.run(context.who, context.io, std::move(input));
        co_return result;
    }
    const bool background = input.background;
    job_manager::work work = [run = std::move(how.run), who = context.who, input = std::move(input)](
                                 request_io& io) mutable { return run(std::move(who), io, std::move(input)); };
    if (background) {
        auto begun = co_await begin_job(how.jobs, context, std::move(job), std::move(work));
        co_return begun;
    }
    job.request = context.request_id;
    auto call = co_await how.jobs->attend(context.who, context.io, std::move(job), std::move(work));
    if (call.result) co_return std::move(*call.result);
    co_return answer_with_job(call);
}

/// Adds the members that all results of runs have, and to `_meta` that the queue was full.
void add_run(tool_result& result, const run_outcome& run);

/// {stdout, stderr} and what all results of runs have in common; is_error where the run did not end by itself.
/// `longest`: see ending_sentence().
tool_result run_result(run_outcome run, std::string_view longest, std::string hint = {});

/// The settings that bound the memory of a process of a command, and of a kernel.
inline constexpr std::string_view memory_of_commands = "SANDBOX_MEMORY_LIMIT",
                                  memory_of_kernels = "SANDBOX_KERNEL_MEMORY";

/// run_result() with the hint of hint_on(), as of a run in a sandbox.
tool_result sandbox_run_result(run_outcome run, std::string_view longest,
                               std::string_view memory_setting = memory_of_commands);

/// The value of the last expression and what became of the kernel.
void add_kernel_fields(tool_result& result, kernel_outcome& outcome);

/// Appends the images among `files` as image content, up to a limit, and the results `files`, `file_links`,
/// `files_left_out`.
awaitable<> add_files(tool_result& result, sandbox_runner& runs, caller who, sandbox_record where, changed_paths files);

}  // namespace cmcp
