#include "runs/run_report.hpp"
#include "sandboxes/sandbox_packages.hpp"
#include "tools/sandbox_run.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

struct install_input : sandbox_input, run_options {
    std::vector<std::string> package_names;
    std::string manager = "pip";
};

awaitable<tool_result> run_install(sandbox_packages& packages, caller who, request_io& io, sandbox_record where,
                                   install_input input)
{
    const auto kind = input.manager == "npm" ? package_kind::npm : package_kind::pip;
    run_options& options = input;
    const auto outcome = co_await packages.install(std::move(who), io, std::move(where), kind,
                                                   std::move(input.package_names), std::move(options));
    tool_result result;
    json::array& installed = result.structured["installed"].emplace_array();
    for (const auto& name : outcome.installed) installed.emplace_back(name);
    result.structured["output"] = outcome.run.out + outcome.run.err;
    add_run_fields(result.structured, outcome.run);
    result.is_error = !outcome.problem.empty();
    if (result.is_error) result.structured["error"] = outcome.problem;
    co_return result;
}

awaitable<tool_result> process_install(sandbox_packages& packages, sandbox_manager& sandboxes, job_manager& jobs,
                                       tool_context& context, install_input input)
{
    auto where = sandboxes.find(context.who, input.sandbox_id);
    input.label = context.request_id;
    new_job job{where.id, "install_packages_in_sandbox", {}};
    for (const auto& name : input.package_names) job.label += (job.label.empty() ? "" : " ") + name;
    const bool in_background = input.background;
    job_manager::work work = [&packages, who = context.who, where = std::move(where),
                              input = std::move(input)](request_io& io) mutable {
        return run_install(packages, std::move(who), io, std::move(where), std::move(input));
    };
    auto result = co_await run_or_begin_job(&jobs, context, in_background, std::move(job), std::move(work));
    co_return result;
}

std::string about_install(const settings& config)
{
    std::string description =
        "Install Python packages (or npm packages) in a sandbox of yours, from the server's index. They last until the "
        "sandbox is deleted; every later run in it finds them. Versions may be pinned.";
    if (!config.pypi_allow_source) description += " Only ready-built packages (wheels) are installed.";
    return description;
}

json::object install_output()
{
    auto output = schema::output({{"success", schema::boolean("Whether all are installed now")},
                                  {"installed", schema::array("What is new, as name==version", schema::string(""))},
                                  {"output", schema::string("What the installation printed")}},
                                 {"success", "installed", "output"});
    add_sandbox_run_schema(output);
    return output;
}

}  // namespace

tool_owner make_install_packages_in_sandbox(sandbox_packages& packages, sandbox_manager& sandboxes, job_manager& jobs,
                                            const settings& config)
{
    using input = install_input;
    return make_tool<input>(
        {.about = {.name = "install_packages_in_sandbox",
                   .title = "Install packages in a sandbox",
                   .description = about_install(config),
                   .output_schema = install_output(),
                   .annotations = {.read_only = false, .destructive = false, .idempotent = true, .open_world = true},
                   .tasks = task_use::may},
         .input = {sandbox_id_field(),
                   {"package_names", &input::package_names, "Names with an optional version: numpy, numpy==1.26.4",
                    json::object{{"items", schema::string("A package")}}, rule::required},
                   {"manager", &input::manager, "pip when left out", rule::one_of({"pip", "npm"})},
                   timeout_field(),
                   max_output_field(),
                   background_field()},
         .process = std::bind_front(process_install, std::ref(packages), std::ref(sandboxes), std::ref(jobs))});
}

}  // namespace cmcp
