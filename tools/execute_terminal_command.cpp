#include "tools/sandbox_run.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

struct terminal_input : sandbox_input, run_options {
    std::string command;
};

awaitable<tool_result> run_terminal(sandbox_runner& runs, blocking_pool& pool, caller who, request_io& io,
                                    sandbox_record where, terminal_input input)
{
    run_options& options = input;
    auto outcome =
        co_await runs.command(std::move(who), io, std::move(where), std::move(input.command), std::move(options));
    auto result = sandbox_run_result(std::move(outcome.run), "BASH_TIMEOUT_MAX");
    co_await add_files(result, runs.sandboxes(), pool, std::move(outcome.where), std::move(outcome.files));
    co_return result;
}

awaitable<tool_result> process_terminal(sandbox_runner& runs, job_manager& jobs, blocking_pool& pool,
                                        tool_context& context, terminal_input input)
{
    auto where = runs.sandboxes().find(context.who, input.sandbox_id);
    input.label = context.request_id;
    new_job job{where.id, "execute_terminal_command", input.command};
    const bool in_background = input.background;
    job_manager::work work = [&runs, &pool, who = context.who, where = std::move(where),
                              input = std::move(input)](request_io& io) mutable {
        return run_terminal(runs, pool, std::move(who), io, std::move(where), std::move(input));
    };
    auto result = co_await run_or_begin_job(&jobs, context, in_background, std::move(job), std::move(work));
    co_return result;
}

json::object terminal_output()
{
    auto output = schema::output({{"stdout", schema::string("What it printed, invalid UTF-8 replaced")},
                                  {"stderr", schema::string("What it printed as errors")}},
                                 {"stdout", "stderr", "exit_code", "files", "file_links"});
    add_sandbox_run_schema(output);
    return output;
}

}  // namespace

tool_owner make_execute_terminal_command(sandbox_runner& runs, job_manager& jobs, blocking_pool& pool)
{
    using input = terminal_input;
    return make_tool<input>(
        {.about = {.name = "execute_terminal_command",
                   .title = "Execute a command in a sandbox",
                   .description = "Run a command in bash in a sandbox of yours, without network; every program of its "
                                  "image is there. Files stay for later calls; those that the run made or changed come "
                                  "back as links, small images as images.",
                   .output_schema = terminal_output(),
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false},
                   .tasks = task_use::may},
         .input = {sandbox_id_field(),
                   {"command", &input::command, "What bash runs; pipes, && and several lines work", rule::required},
                   {"working_dir", &input::working_dir, "Folder to start in, relative to the working folder"},
                   timeout_field(),
                   max_output_field(),
                   background_field()},
         .process = std::bind_front(process_terminal, std::ref(runs), std::ref(jobs), std::ref(pool))});
}

}  // namespace cmcp
