#include "runs/run_report.hpp"
#include "sandboxes/sandbox_packages.hpp"
#include "tools/sandbox_tool.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"

namespace cmcp {

namespace {

tool_definition install_packages_in_sandbox_definition(const settings& chosen)
{
    tool_definition made;
    made.name = "install_packages_in_sandbox";
    made.title = "Install packages in a sandbox";
    made.description =
        "Install Python packages (or npm packages) in a sandbox of yours, from the server's index. They last until the "
        "sandbox is deleted; every "
        "later run in it finds them. Versions may be pinned.";
    if (!chosen.pypi_allow_source) made.description += " Only ready-built packages (wheels) are installed.";
    made.input_schema = schema::input(
        {{"sandbox_id", sandbox_id_schema()},
         {"package_names",
          schema::array("Names with an optional version: numpy, numpy==1.26.4", schema::string("A package"))},
         {"manager", schema::one_of("pip when left out", {"pip", "npm"})},
         {"timeout", timeout_schema()},
         {"max_output", max_output_schema()},
         {"run_in_background", background_schema()}},
        {"sandbox_id", "package_names"});
    made.output_schema =
        schema::output({{"success", schema::boolean("Whether all are installed now")},
                        {"installed", schema::array("What is new, as name==version", schema::string(""))},
                        {"output", schema::string("What the installation printed")}},
                       {"success", "installed", "output"});
    add_sandbox_run_schema(made.output_schema);
    made.tasks = task_use::may;
    made.annotations = {.read_only = false, .destructive = false, .idempotent = true, .open_world = true};
    return made;
}

std::vector<std::string> names_of(const json::object& arguments)
{
    std::vector<std::string> names;
    for (const auto& each : arguments.at("package_names").as_array()) names.emplace_back(each.as_string());
    return names;
}

class install_packages_in_sandbox final : public sandbox_run_tool {
public:
    install_packages_in_sandbox(managers& all, const settings& chosen)
        : sandbox_run_tool(install_packages_in_sandbox_definition(chosen), all.jobs.get()), all_(all)
    {
    }

private:
    new_job describe(const caller& who, const json::object& arguments) override
    {
        const auto where = all_.sandboxes->find(who, read_string(arguments, "sandbox_id"));
        std::string label;
        for (const auto& name : names_of(arguments)) label += (label.empty() ? "" : " ") + name;
        return {where.id, "install_packages_in_sandbox", std::move(label)};
    }
    awaitable<tool_result> run(caller who, request_io& io, std::string label, json::object arguments) override
    {
        auto where = all_.sandboxes->find(who, read_string(arguments, "sandbox_id"));
        const auto kind = read_string(arguments, "manager") == "npm" ? package_kind::npm : package_kind::pip;
        auto options = read_run_options(arguments, std::move(label));
        auto names = names_of(arguments);
        auto outcome = co_await all_.packages->install(std::move(who), io, std::move(where), kind, std::move(names),
                                                       std::move(options));
        tool_result made;
        json::array& installed = made.structured["installed"].emplace_array();
        for (const auto& each : outcome.installed) installed.emplace_back(each);
        made.structured["output"] = outcome.run.out + outcome.run.err;
        add_run_fields(made.structured, outcome.run);
        made.is_error = !outcome.problem.empty();
        if (made.is_error) made.structured["error"] = outcome.problem;
        co_return made;
    }

    managers& all_;
};

}  // namespace

std::unique_ptr<tool> make_install_packages_in_sandbox(managers& all, const settings& chosen)
{
    return std::make_unique<install_packages_in_sandbox>(all, chosen);
}

}  // namespace cmcp
