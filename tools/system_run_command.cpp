#include "runs/bash_manager.hpp"
#include "tools/run_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {
namespace {

constexpr const char* about_system_run_command =
    "Run a command in bash inside a sandbox without network. Files that the file tools write are in the working folder "
    "under the same relative paths, and stay for later calls. Only the programs in BASH_ALLOWED_COMMANDS exist "
    "(system_info lists them). Returns what was printed and why the run ended.";

struct command_input : run_options {
    std::string command;
};

fields<command_input> command_fields(bool jobs)
{
    fields<command_input> all{
        {"command", &command_input::command, "What bash runs; pipes, && and several lines work", rule::required},
        {"working_dir", &command_input::working_dir,
         "Folder to start in: relative to the workspace, or absolute inside the sandbox"},
        timeout_field(),
        max_output_field()};
    if (jobs) all.push_back(background_field());
    return all;
}

json::object command_output(bool jobs)
{
    auto output = schema::output({{"stdout", schema::string("What it printed, invalid UTF-8 replaced")},
                                  {"stderr", schema::string("What it printed as errors")},
                                  {"error", schema::string("What went wrong and what to do")}},
                                 {"stdout", "stderr", "exit_code", "success"});
    add_run_output_schema(output);
    if (jobs) add_job_schema(output);
    return output;
}

awaitable<tool_result> run_bash(bash_manager& bash, caller who, request_io& io, command_input input)
{
    run_options& options = input;
    auto outcome = co_await bash.run(std::move(who), io, std::move(input.command), std::move(options));
    co_return run_result(std::move(outcome), "BASH_TIMEOUT_MAX");
}

awaitable<tool_result> process_command(bash_manager& bash, job_manager* jobs, tool_context& context,
                                       command_input input)
{
    input.label = context.request_id;
    new_job job{.tool = "system_run_command", .label = input.command};
    const bool in_background = input.background;
    job_manager::work work = [&bash, who = context.who, input = std::move(input)](request_io& io) mutable {
        return run_bash(bash, std::move(who), io, std::move(input));
    };
    auto result = co_await run_or_begin_job(jobs, context, in_background, std::move(job), std::move(work));
    co_return result;
}

}  // namespace

tool_owner make_system_run_command(bash_manager& bash, job_manager* jobs)
{
    return make_tool<command_input>(
        {.about = {.name = "system_run_command",
                   .title = "Run a shell command",
                   .description = about_system_run_command,
                   .output_schema = command_output(jobs != nullptr),
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false},
                   .tasks = task_use::may},
         .input = command_fields(jobs != nullptr),
         .process = std::bind_front(process_command, std::ref(bash), jobs)});
}

}  // namespace cmcp
