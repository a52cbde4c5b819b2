#include "config/settings.hpp"
#include "mcp/tool_registry.hpp"
#include "packages/sandbox_packages.hpp"
#include "runs/run_report.hpp"
#include "sandboxes/sandbox_services.hpp"
#include "shells/command_shells.hpp"
#include "text/words.hpp"
#include "tools/run_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {
namespace {

awaitable<kernel_outcome> run_script(sandbox_runner& runs, kernel_manager& kernels, caller who, request_io& io,
                                     sandbox_run_input input)
{
    run_options& options = input;
    auto& where = input.where;
    kernel_outcome outcome;
    if (input.stateful)
        outcome =
            co_await kernels.execute(std::move(who), io, std::move(where), std::move(input.code), std::move(options));
    else
        outcome.done =
            co_await runs.python(std::move(who), io, std::move(where), std::move(input.code), std::move(options));
    co_return outcome;
}

awaitable<tool_result> script_result(sandbox_runner& runs, kernel_manager& kernels, caller who, request_io& io,
                                     sandbox_run_input input)
{
    const bool stateful = input.stateful;
    const std::string longest = runs.python_terms().longest(input.background);
    auto outcome = co_await run_script(runs, kernels, who, io, std::move(input));
    auto result =
        sandbox_run_result(std::move(outcome.done.run), longest, stateful ? memory_of_kernels : memory_of_commands);
    if (stateful) add_kernel_fields(result, outcome);
    co_await add_files(result, runs, std::move(who), std::move(outcome.done.where), std::move(outcome.done.files));
    co_return result;
}

// The network of programs, where the operator lets them have one.
std::string network_in_words(const sandbox_manager& sandboxes)
{
    return sandboxes.offers_network() ? ", with the network that set_network gave it" : ", without network";
}

json::object run_output(std::string_view about_stderr)
{
    return with_sandbox_run_output(
        schema::output({{"stdout", schema::string("What it printed, invalid UTF-8 replaced")},
                        {"stderr", schema::string(about_stderr)}},
                       {"stdout", "stderr", "exit_code", "files", "file_links"}));
}

tool_owner make_execute_python_code(sandbox_runner& runs, kernel_manager& kernels, job_manager& jobs)
{
    using input = sandbox_run_input;
    run_process<input> process{"execute_python_code", &jobs,
                               std::bind_front(script_result, std::ref(runs), std::ref(kernels)),
                               std::bind_front(&sandbox_manager::use, &runs.sandboxes())};
    return make_tool<input>(
        {.about = {.name = "execute_python_code",
                   .title = "Execute Python in a sandbox",
                   .description = "Run Python in a sandbox" + network_in_words(runs.sandboxes()) +
                                  ": a script, or with stateful a notebook cell. Files last; images are returned.",
                   .output_schema = run_output("What it printed as errors, with the traceback of an exception"),
                   .may_show_images = true,
                   .needs = scope::run,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false},
                   .tasks = task_use::may,
                   .about = unnamed_subject::default_sandbox},
         .input = {sandbox_id_field(),
                   {"code", &input::code, "", rule::required, rule::example("print(6 * 7)")},
                   {"working_dir", &input::working_dir, "Folder to start in", rule::unlisted},
                   timeout_field(),
                   max_output_field(),
                   stateful_field(),
                   background_field()},
         .process = std::bind_front(run_or_begin<input>, std::move(process))});
}

awaitable<sandbox_outcome> run_command(sandbox_runner& runs, command_shells& shells, caller who, request_io& io,
                                       sandbox_run_input input)
{
    run_options& options = input;
    auto& where = input.where;
    if (input.shell) return shells.run(std::move(who), io, std::move(where), std::move(input.code), std::move(options));
    return runs.command(std::move(who), io, std::move(where), std::move(input.code), std::move(options));
}

awaitable<tool_result> run_terminal(sandbox_runner& runs, command_shells& shells, caller who, request_io& io,
                                    sandbox_run_input input)
{
    const std::string longest = runs.command_terms().longest(input.background);
    auto outcome = co_await run_command(runs, shells, who, io, std::move(input));
    auto result = sandbox_run_result(std::move(outcome.run), longest);
    co_await add_files(result, runs, std::move(who), std::move(outcome.where), std::move(outcome.files));
    co_return result;
}

awaitable<tool_result> declare_service(sandbox_services& services, sandbox_manager& sandboxes, tool_context& context,
                                       sandbox_run_input input)
{
    if (input.shell || input.timeout || !input.working_dir.empty())
        throw sandbox_error("InvalidArgument",
                            "A service has neither shell, timeout nor working_dir: begin its command with cd.");
    auto where = co_await sandboxes.use(context.who, input.sandbox_id);
    sandbox_service wanted{input.service, std::move(input.code)};
    const auto begun = co_await services.declare(context.who, std::move(where), std::move(wanted), context.request_id);
    co_return answer_of({{"success", true},
                         {"job_id", begun.record.id},
                         {"state", begun.record.state},
                         {"message", "The service " + input.service +
                                         " runs whenever the sandbox does. job_poll with this job_id gives its output, "
                                         "job_kill ends it for good; list_sandboxes shows its state."}});
}

awaitable<tool_result> run_or_declare(run_process<sandbox_run_input> how, sandbox_services& services,
                                      sandbox_manager& sandboxes, tool_context& context, sandbox_run_input input)
{
    if (!input.service.empty()) return declare_service(services, sandboxes, context, std::move(input));
    return run_or_begin(std::move(how), context, std::move(input));
}

tool_owner make_execute_terminal_command(sandbox_runner& runs, command_shells& shells, job_manager& jobs,
                                         sandbox_services& services)
{
    using input = sandbox_run_input;
    run_process<input> process{"execute_terminal_command", &jobs,
                               std::bind_front(run_terminal, std::ref(runs), std::ref(shells)),
                               std::bind_front(&sandbox_manager::use, &runs.sandboxes())};
    return make_tool<input>(
        {.about = {.name = "execute_terminal_command",
                   .title = "Execute a command in a sandbox",
                   .description = "Run a bash command in a sandbox" + network_in_words(runs.sandboxes()) +
                                  "; files last. To keep a server running: nohup … > log 2>&1 &; later calls reach it "
                                  "on 127.0.0.1.",
                   .output_schema = run_output("What it printed as errors"),
                   .may_show_images = true,
                   .needs = scope::run,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false},
                   .tasks = task_use::may,
                   .about = unnamed_subject::default_sandbox},
         .input = {sandbox_id_field(),
                   {"command", &input::code, "", rule::required, rule::example("ls -l | head")},
                   {"working_dir", &input::working_dir, "Folder to start in", rule::unlisted},
                   {"shell", &input::shell, "Keep folder and variables for later calls with shell", rule::with_default},
                   timeout_field(),
                   max_output_field(),
                   background_field(),
                   {"service", &input::service, "Its name as a service, which is started again whenever it ends"}},
         .process =
             std::bind_front(run_or_declare, std::move(process), std::ref(services), std::ref(runs.sandboxes()))});
}

struct install_input : sandbox_run_input {
    std::string job_label() const { return joined(package_names, " "); }

    std::vector<std::string> package_names;
    std::string manager = "pip";
};

awaitable<tool_result> run_install(sandbox_packages& packages, caller who, request_io& io, install_input input)
{
    const auto kind = input.manager == "npm" ? package_kind::npm : package_kind::pip;
    run_options& options = input;
    const auto outcome = co_await packages.install(std::move(who), io, std::move(input.where), kind,
                                                   std::move(input.package_names), std::move(options));
    tool_result result;
    json::array& installed = result.structured["installed"].emplace_array();
    for (const auto& name : outcome.installed) installed.emplace_back(name);
    result.is_error = !outcome.problem.empty();
    const std::string printed = outcome.run.out + outcome.run.err;
    result.structured["output"] = result.is_error ? telling_end(printed) : printed;
    add_run(result, outcome.run);
    if (result.is_error) result.structured["error"] = outcome.problem;
    co_return result;
}

std::string about_install(const settings& config)
{
    std::string description = "Install Python or npm packages in a sandbox for its later runs.";
    if (!config.pypi_allow_source) description += " Wheels only.";
    return description;
}

tool_owner make_install_packages_in_sandbox(sandbox_packages& packages, sandbox_manager& sandboxes, job_manager& jobs,
                                            const settings& config)
{
    using input = install_input;
    run_process<input> process{"install_packages_in_sandbox", &jobs, std::bind_front(run_install, std::ref(packages)),
                               std::bind_front(&sandbox_manager::use, &sandboxes)};
    return make_tool<input>(
        {.about = {.name = "install_packages_in_sandbox",
                   .title = "Install packages in a sandbox",
                   .description = about_install(config),
                   .output_schema = with_sandbox_run_output(schema::output(
                       {{"success", schema::boolean("Whether all are installed now")},
                        {"installed", schema::array("What is new, as name==version", schema::string(""))},
                        {"output", schema::string("What the installation printed")}},
                       {"success", "installed", "output"})),
                   .needs = scope::packages,
                   .annotations = {.read_only = false, .destructive = false, .idempotent = true, .open_world = true},
                   .tasks = task_use::may,
                   .about = unnamed_subject::default_sandbox},
         .input = {sandbox_id_field(),
                   {"package_names", &input::package_names, "", json::object{{"items", schema::string("")}},
                    rule::required, rule::listed_example{json::array{"numpy", "six==1.16.0"}}},
                   {"manager", &input::manager, "", rule::one_of({"pip", "npm"})},
                   unlisted(timeout_field()),
                   max_output_field(),
                   unlisted(background_field())},
         .process = std::bind_front(run_or_begin<input>, std::move(process))});
}

}  // namespace

void add_sandbox_run_tools(tool_registry& registry, sandbox_runner& runs, kernel_manager& kernels,
                           command_shells& shells, sandbox_packages& packages, job_manager& jobs,
                           sandbox_services& services, const settings& config)
{
    registry.add(make_execute_python_code(runs, kernels, jobs));
    registry.add(make_execute_terminal_command(runs, shells, jobs, services));
    registry.add(make_install_packages_in_sandbox(packages, runs.sandboxes(), jobs, config));
}

}  // namespace cmcp
