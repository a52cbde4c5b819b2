#include "tools/sandbox_run.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

awaitable<kernel_outcome> run_script(sandbox_runner& runs, kernel_manager& kernels, caller who, request_io& io,
                                     sandbox_record where, sandbox_code_input input)
{
    run_options& options = input;
    kernel_outcome outcome;
    if (input.stateful)
        outcome =
            co_await kernels.execute(std::move(who), io, std::move(where), std::move(input.code), std::move(options));
    else
        outcome.done =
            co_await runs.python(std::move(who), io, std::move(where), std::move(input.code), std::move(options));
    co_return outcome;
}

awaitable<tool_result> script_result(sandbox_runner& runs, kernel_manager& kernels, blocking_pool& pool, caller who,
                                     request_io& io, sandbox_record where, sandbox_code_input input)
{
    const bool stateful = input.stateful;
    auto outcome = co_await run_script(runs, kernels, std::move(who), io, std::move(where), std::move(input));
    auto result = sandbox_run_result(std::move(outcome.done.run), "PYTHON_TIMEOUT_MAX");
    if (stateful) add_kernel_fields(result, outcome);
    co_await add_files(result, runs.sandboxes(), pool, std::move(outcome.done.where), std::move(outcome.done.files));
    co_return result;
}

awaitable<tool_result> process_script(sandbox_runner& runs, kernel_manager& kernels, job_manager& jobs,
                                      blocking_pool& pool, tool_context& context, sandbox_code_input input)
{
    auto where = runs.sandboxes().find(context.who, input.sandbox_id);
    input.label = context.request_id;
    new_job job{where.id, "execute_python_code", input.code};
    const bool in_background = input.background;
    job_manager::work work = [&runs, &kernels, &pool, who = context.who, where = std::move(where),
                              input = std::move(input)](request_io& io) mutable {
        return script_result(runs, kernels, pool, std::move(who), io, std::move(where), std::move(input));
    };
    auto result = co_await run_or_begin_job(&jobs, context, in_background, std::move(job), std::move(work));
    co_return result;
}

json::object script_output()
{
    auto output =
        schema::output({{"stdout", schema::string("What it printed, invalid UTF-8 replaced")},
                        {"stderr", schema::string("What it printed as errors, with the traceback of an exception")}},
                       {"stdout", "stderr", "exit_code", "files", "file_links"});
    add_sandbox_run_schema(output);
    return output;
}

}  // namespace

tool_owner make_execute_python_code(sandbox_runner& runs, kernel_manager& kernels, job_manager& jobs,
                                    blocking_pool& pool)
{
    using input = sandbox_code_input;
    return make_tool<input>(
        {.about = {.name = "execute_python_code",
                   .title = "Execute Python in a sandbox",
                   .description = "Run Python code as a script in a sandbox of yours, without network, with the "
                                  "packages that were installed in it. Files stay for later calls; those that the run "
                                  "made or changed come back as links, small images as images.",
                   .output_schema = script_output(),
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false},
                   .tasks = task_use::may},
         .input = {sandbox_id_field(),
                   {"code", &input::code, "Python source", rule::required},
                   {"working_dir", &input::working_dir, "Folder to start in, relative to the working folder"},
                   timeout_field(),
                   max_output_field(),
                   stateful_field(),
                   background_field()},
         .process =
             std::bind_front(process_script, std::ref(runs), std::ref(kernels), std::ref(jobs), std::ref(pool))});
}

}  // namespace cmcp
