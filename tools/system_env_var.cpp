#include "config/setting.hpp"
#include "runs/python_run.hpp"
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
void add_sandbox_variables(variable_map& to)
{
    to["PATH"] = "/usr/local/bin:/usr/bin:/bin";
    to["HOME"] = sandbox::run_request().workspace_inside;
    to["LANG"] = "C.UTF-8";
    to["TERM"] = "dumb";
    to["USER"] = "sandbox";
    to["LOGNAME"] = "sandbox";
    for (auto& [name, value] : python_variables(python_home::none)) to[name] = value;
}

// The settings that are not secret, and the variables of runs; never the server's own environment.
variable_map visible_variables(const settings& config)
{
    variable_map all;
    for (const setting& row : setting_table())
        if (!row.secret) all[std::string(row.name)] = row.print(config);
    add_sandbox_variables(all);
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

}  // namespace

tool_owner make_system_env_var(const settings& config)
{
    return make_tool<env_var_input>(
        {.about = {.name = "system_env_var",
                   .title = "Settings and variables",
                   .description = "Show this server's settings that are not secret, and the environment variables that "
                                  "a run in the sandbox sees. Without var_name: all of them.",
                   .output_schema = env_var_output(),
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
         .input = {{"var_name", &env_var_input::var_name, "Name of one variable, for example BASH_TIMEOUT_MAX or PATH",
                    json::object{{"minLength", 1}, {"maxLength", 256}}}},
         .process = std::bind_front(process_env_var, visible_variables(config))});
}

}  // namespace cmcp
