#include "tools/system_env_var.hpp"

#include "config/setting.hpp"
#include "runs/python_run.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"
#include "wire/run_request.hpp"

#include <utility>

namespace cmcp {
namespace {

constexpr const char* about_system_env_var =
    "Show this server's settings that are not secret, and the environment variables that a run in the sandbox sees. "
    "Without var_name: all of them.";

json::object system_env_var_schema()
{
    json::object name = schema::string("Name of one variable, for example BASH_TIMEOUT_MAX or PATH");
    name["minLength"] = 1;
    name["maxLength"] = 256;
    return schema::input({{"var_name", std::move(name)}});
}

tool_definition system_env_var_definition()
{
    tool_definition made;
    made.name = "system_env_var";
    made.title = "Settings and variables";
    made.description = about_system_env_var;
    made.input_schema = system_env_var_schema();
    json::object variables = schema::object("Values by name", {});
    variables["additionalProperties"] = json::object{{"type", "string"}};
    made.output_schema = schema::output(
        {{"variables", std::move(variables)},
         {"requested_var",
          schema::any("The value of the variable that was asked for; null when none was, or there is none")},
         {"success", schema::boolean("Whether there is such a variable")},
         {"error", schema::string("What to do instead")}},
        {"variables", "requested_var", "success"});
    made.annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
    return made;
}

// What the launcher gives every run, and what Python runs find beside it.
void add_sandbox_variables(std::map<std::string, std::string>& to)
{
    to["PATH"] = "/usr/local/bin:/usr/bin:/bin";
    to["HOME"] = sandbox::run_request().workspace_inside;
    to["LANG"] = "C.UTF-8";
    to["TERM"] = "dumb";
    to["USER"] = "sandbox";
    to["LOGNAME"] = "sandbox";
    for (auto& [name, value] : python_variables(python_home::none)) to[name] = value;
}

std::map<std::string, std::string> visible_variables(const settings& chosen)
{
    std::map<std::string, std::string> all;
    for (const setting& row : setting_table())
        if (!row.secret) all[std::string(row.name)] = row.print(chosen);
    add_sandbox_variables(all);
    return all;
}

tool_result not_there(const std::string& name)
{
    tool_result made = tool_failure("var_name: \"" + name +
                                    "\" is neither a setting that may be shown nor a variable of the "
                                    "sandbox; call system_env_var without var_name for the list");
    made.structured["variables"] = json::object();
    made.structured["requested_var"] = nullptr;
    return made;
}

}  // namespace

system_env_var::system_env_var(const settings& chosen)
    : variables_(visible_variables(chosen)), definition_(system_env_var_definition())
{
}

awaitable<tool_result> system_env_var::call(tool_context&, json::object arguments)
{
    const json::value* asked = arguments.if_contains("var_name");
    tool_result made(arguments.storage());
    made.structured.reserve(3);
    auto& shown = made.structured["variables"].emplace_object();
    auto& wanted = made.structured["requested_var"];
    if (asked == nullptr) {
        shown.reserve(variables_.size());
        for (const auto& [name, value] : variables_) shown.emplace(name, value);
    } else {
        const auto found = variables_.find(std::string(asked->as_string()));
        if (found == variables_.end()) co_return not_there(std::string(asked->as_string()));
        shown[found->first] = found->second;
        wanted = found->second;
    }
    made.structured["success"] = true;
    co_return made;
}

}  // namespace cmcp
