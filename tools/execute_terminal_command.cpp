#include "tools/sandbox_tool.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"

namespace cmcp {

namespace {

tool_definition execute_terminal_command_definition()
{
    tool_definition made;
    made.name = "execute_terminal_command";
    made.title = "Execute a command in a sandbox";
    made.description =
        "Run a command in bash in a sandbox of yours, without network; every program of its image is there. Files stay "
        "for later "
        "calls; those that the run made or changed come back as links, small images as images.";
    made.input_schema =
        schema::input({{"sandbox_id", sandbox_id_schema()},
                       {"command", schema::string("What bash runs; pipes, && and several lines work")},
                       {"working_dir", schema::string("Folder to start in, relative to the working folder")},
                       {"timeout", timeout_schema()},
                       {"max_output", max_output_schema()},
                       {"run_in_background", background_schema()}},
                      {"sandbox_id", "command"});
    made.output_schema = schema::output({{"stdout", schema::string("What it printed, invalid UTF-8 replaced")},
                                         {"stderr", schema::string("What it printed as errors")}},
                                        {"stdout", "stderr", "exit_code", "files", "file_links"});
    add_sandbox_run_schema(made.output_schema);
    made.tasks = task_use::may;
    made.annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false};
    return made;
}

class execute_terminal_command final : public sandbox_run_tool {
public:
    explicit execute_terminal_command(managers& all)
        : sandbox_run_tool(execute_terminal_command_definition(), all.jobs.get()), all_(all)
    {
    }

private:
    new_job describe(const caller& who, const json::object& arguments) override
    {
        const auto where = all_.sandboxes->find(who, read_string(arguments, "sandbox_id"));
        return {where.id, "execute_terminal_command", read_string(arguments, "command")};
    }
    awaitable<tool_result> run(caller who, request_io& io, std::string label, json::object arguments) override
    {
        auto where = all_.sandboxes->find(who, read_string(arguments, "sandbox_id"));
        auto options = read_run_options(arguments, std::move(label));
        auto command = read_string(arguments, "command");
        auto outcome = co_await all_.sandbox_runs->command(std::move(who), io, std::move(where), std::move(command),
                                                           std::move(options));
        auto made = sandbox_run_result(outcome, "BASH_TIMEOUT_MAX");
        co_await add_files(made, *all_.sandboxes, *all_.pool, std::move(outcome.where), std::move(outcome.files));
        co_return made;
    }

    managers& all_;
};

}  // namespace

std::unique_ptr<tool> make_execute_terminal_command(managers& all)
{
    return std::make_unique<execute_terminal_command>(all);
}

}  // namespace cmcp
