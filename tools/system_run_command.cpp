#include "tools/system_run_command.hpp"

#include "runs/run_report.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"

#include <utility>

namespace cmcp {
namespace {

constexpr const char* about_system_run_command =
    "Run a command in bash inside a sandbox without network. Files that the file tools write are in the working folder "
    "under the same relative paths, and stay for later calls. Only the programs in BASH_ALLOWED_COMMANDS exist "
    "(system_info lists them). Returns what was printed and why the run ended.";

tool_definition system_run_command_definition(bool jobs)
{
    tool_definition made;
    made.name = "system_run_command";
    made.title = "Run a shell command";
    made.description = about_system_run_command;
    made.input_schema = run_input_schema("command", "What bash runs; pipes, && and several lines work", jobs);
    made.output_schema = schema::output({{"stdout", schema::string("What it printed, invalid UTF-8 replaced")},
                                         {"stderr", schema::string("What it printed as errors")},
                                         {"error", schema::string("What went wrong and what to do")}},
                                        {"stdout", "stderr", "exit_code", "success"});
    add_run_output_schema(made.output_schema);
    made.tasks = task_use::may;
    if (jobs) add_job_schema(made.output_schema);
    made.annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false};
    return made;
}

tool_result system_run_command_result(run_outcome outcome)
{
    tool_result made;
    std::string error = outcome.refused;
    if (error.empty()) error = ending_sentence(outcome, "BASH_TIMEOUT_MAX");
    made.structured["stdout"] = std::move(outcome.out);
    made.structured["stderr"] = std::move(outcome.err);
    add_run_fields(made.structured, outcome);
    made.is_error = !error.empty();
    if (made.is_error) made.structured["error"] = std::move(error);
    return made;
}

}  // namespace

system_run_command::system_run_command(bash_manager& runs, job_manager* jobs)
    : sandbox_run_tool(system_run_command_definition(jobs != nullptr), jobs), runs_(runs)
{
}

new_job system_run_command::describe(const caller&, const json::object& arguments)
{
    return {{}, "system_run_command", read_string(arguments, "command")};
}

awaitable<tool_result> system_run_command::run(caller who, request_io& io, std::string label, json::object arguments)
{
    std::string command = read_string(arguments, "command");
    run_options options = read_run_options(arguments, std::move(label));
    auto outcome = co_await runs_.run(std::move(who), io, std::move(command), std::move(options));
    co_return system_run_command_result(std::move(outcome));
}

}  // namespace cmcp
