#include "config/setting.hpp"
#include "config/settings.hpp"
#include "mcp/revision.hpp"
#include "mcp/silent_io.hpp"
#include "prebuilt/version.hpp"
#include "runs/bash_manager.hpp"
#include "runs/python_run.hpp"
#include "sandboxes/sandbox_runner.hpp"
#include "tools/described_tool.hpp"
#include "tools/tools.hpp"
#include "wire/run_request.hpp"

#include <map>

namespace cmcp {
namespace {

using variable_map = std::map<std::string, std::string>;

struct env_var_input {
    std::optional<std::string> var_name;
    json::storage_ptr memory;  // of the request: the result is built in it
};

// The launcher gives these to every run; Python runs have more of them.
void add_sandbox_variables(variable_map& to, const settings& config)
{
    to["PATH"] = sandbox::usual_path;
    sandbox::run_request model;
    add_python_variables(model, python_home::sandbox);
    to["HOME"] = config.sandbox_work_dir;
    to["LANG"] = "C.UTF-8";
    to["TERM"] = "dumb";
    to["USER"] = "sandbox";
    to["LOGNAME"] = "sandbox";
    for (auto& [name, value] : model.environment) to[name] = value;
}

// The settings that are not secret, and the variables of runs; never the server's own environment.
variable_map visible_variables(const settings& config)
{
    variable_map all;
    for (const setting& row : setting_table())
        if (!row.secret) all[std::string(row.name)] = row.print(config);
    add_sandbox_variables(all, config);
    return all;
}

tool_result unknown_variable(const std::string& name)
{
    auto result = tool_failure("var_name: \"" + name +
                               "\" is neither a setting that may be shown nor a variable of the sandbox; call "
                               "system_env_var without var_name for the list");
    result.structured["variables"] = json::object();
    result.structured["requested_var"] = nullptr;
    return result;
}

awaitable<tool_result> process_env_var(const variable_map& variables, tool_context&, env_var_input input)
{
    tool_result result(input.memory);
    result.structured.reserve(3);
    auto& shown = result.structured["variables"].emplace_object();
    auto& requested = result.structured["requested_var"];
    if (!input.var_name) {
        shown.reserve(variables.size());
        for (const auto& [name, value] : variables) shown.emplace(name, value);
    } else {
        const auto variable = variables.find(*input.var_name);
        if (variable == variables.end()) co_return unknown_variable(*input.var_name);
        shown[variable->first] = variable->second;
        requested = variable->second;
    }
    result.structured["success"] = true;
    co_return result;
}

json::object env_var_output()
{
    json::object variables = schema::object("Values by name", {});
    variables["additionalProperties"] = json::object{{"type", "string"}};
    return schema::output(
        {{"variables", std::move(variables)},
         {"requested_var",
          schema::any("The value of the variable that was asked for; null when none was, or there is none")},
         {"success", schema::boolean("Whether there is such a variable")},
         {"error", schema::string("What to do instead")}},
        {"variables", "requested_var", "success"});
}

constexpr const char* about_system_info =
    "Versions, limits, your use of them, layers of the sandbox and allowed programs.";

json::object system_info_output()
{
    json::object layer =
        schema::object("One layer of the isolation", {{"name", schema::string("")},
                                                      {"state", schema::string("on, degraded, off or not asked for")},
                                                      {"detail", schema::string("")}});
    return schema::output(
        {{"name", schema::string("")},
         {"version", schema::string("")},
         {"protocol_revisions", schema::array("Revisions of MCP that are spoken", schema::string(""))},
         {"limits", schema::object("Seconds and bytes", {})},
         {"usage", schema::object("What the caller uses, and its limits; null: none", {})},
         {"backend", schema::string("What runs the sandboxes")},
         {"layers", schema::array("Layers of the sandbox, found by probing", std::move(layer))},
         {"bash_version", schema::string("")},
         {"python_version", schema::string("")},
         {"python_interpreter", schema::string("")},
         {"allowed_commands", schema::array("[\"*\"]: all", schema::string(""))},
         {"success", schema::boolean("")}},
        {"name", "version", "protocol_revisions", "limits", "usage", "layers", "allowed_commands", "success"});
}

struct server_facts {
    sandbox::backend& backend;
    sandbox_runner& runs;
    bash_manager& bash;
    python_manager& python;
    const settings& config;
    usage_of_principal usage;
    std::string bash_version{};  // as the sandbox has it; empty until a run has found it
    std::string python_version{};
};

std::string first_line(const run_outcome& outcome)
{
    if (outcome.end.why != sandbox::cause::exited || outcome.end.exit_code != 0) return {};
    return outcome.out.substr(0, outcome.out.find('\n'));
}

// In cells of their own without files, so that no sandbox is made for them. These runs are not the caller's: nothing of
// them is shown.
awaitable<> find_versions(server_facts& facts, caller who)
{
    silent_io io;
    run_options options;
    options.request_id = "system_info";
    if (facts.bash_version.empty()) {
        sandbox::run_request request;
        facts.bash.start(request, "builtin echo $BASH_VERSION", options);
        const auto outcome = co_await facts.runs.runs().run(who, io, std::move(request), options);
        facts.bash_version = first_line(outcome);
    }
    if (facts.python_version.empty()) {
        sandbox::run_request request;
        facts.python.start(request, "import sys\nprint('.'.join(map(str, sys.version_info[:3])))", options);
        const auto outcome = co_await facts.runs.runs().run(who, io, std::move(request), options);
        facts.python_version = first_line(outcome);
    }
}

json::array names_json(const sandbox::program_view& programs)
{
    if (programs.all) return {"*"};
    return json::array(programs.names.begin(), programs.names.end());
}

double seconds(std::chrono::milliseconds time) { return static_cast<double>(time.count()) / 1000; }

json::object limits_json(const settings& config)
{
    json::object limits;
    limits["bash_timeout_default_s"] = seconds(config.bash_timeout_default);
    limits["bash_timeout_max_s"] = seconds(config.bash_timeout_max);
    limits["python_timeout_default_s"] = seconds(config.python_timeout_default);
    limits["python_timeout_max_s"] = seconds(config.python_timeout_max);
    limits["command_memory_bytes"] = config.memory_limit;
    limits["python_memory_bytes"] = config.python_memory_limit;
    limits["processes"] = config.process_limit;
    limits["file_size_bytes"] = config.file_size_limit;
    limits["tmp_bytes"] = config.tmp_size;
    limits["workspace_bytes"] = config.workspace_max_size;
    limits["workspace_files"] = config.workspace_max_files;
    limits["output_bytes"] = config.result_limit;
    limits["output_bytes_max"] = highest_max_output;
    limits["output_bytes_hard"] = config.output_hard_limit;
    limits["file_tool_bytes"] = config.file_max_size;
    limits["file_extensions"] =
        json::array(config.file_allowed_extensions.begin(), config.file_allowed_extensions.end());
    return limits;
}

awaitable<tool_result> process_system_info(std::shared_ptr<server_facts> facts, tool_context& context, no_input)
{
    const auto layers = co_await facts->backend.probe();
    co_await find_versions(*facts, context.who);
    tool_result result;
    json::object& about = result.structured;
    about["name"] = "container-mcp";
    about["version"] = CMCP_VERSION;
    about["protocol_revisions"] = json::array(revision_names.begin(), revision_names.end());
    about["limits"] = limits_json(facts->config);
    about["usage"] = facts->usage(context.who.principal);
    about["backend"] = facts->backend.name();
    about["layers"] = layers_json(layers);
    about["bash_version"] = facts->bash_version;
    about["python_version"] = facts->python_version;
    about["python_interpreter"] = facts->config.python_interpreter;
    about["allowed_commands"] = names_json(facts->bash.programs());
    about["success"] = true;
    co_return result;
}

}  // namespace

tool_owner make_system_env_var(const settings& config)
{
    return make_tool<env_var_input>(
        {.about = {.name = "system_env_var",
                   .title = "Settings and variables",
                   .description = "Settings of this server and variables of a run; all of them without var_name.",
                   .output_schema = env_var_output(),
                   .needs = scope::read,
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
         .input = {{"var_name", &env_var_input::var_name, "", json::object{{"minLength", 1}, {"maxLength", 256}}}},
         .process = std::bind_front(process_env_var, visible_variables(config))});
}

json::array layers_json(const sandbox::layers& layers)
{
    json::array all;
    for (const sandbox::layer& layer : layers) {
        json::object row;
        row["name"] = layer.name;
        row["state"] = sandbox::to_string(layer.is);
        row["detail"] = layer.detail;
        all.push_back(std::move(row));
    }
    return all;
}

tool_owner make_system_info(sandbox::backend& backend, sandbox_runner& runs, bash_manager& bash, python_manager& python,
                            const settings& config, usage_of_principal usage)
{
    auto facts = std::make_shared<server_facts>(server_facts{backend, runs, bash, python, config, std::move(usage)});
    return make_tool<no_input>(
        {.about = {.name = "system_info",
                   .title = "About this server",
                   .description = about_system_info,
                   .output_schema = system_info_output(),
                   .needs = scope::read,
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
         .input = {},
         .process = std::bind_front(process_system_info, std::move(facts))});
}

}  // namespace cmcp
