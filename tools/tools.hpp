#pragma once

#include "mcp/code_tools.hpp"
#include "mcp/tool.hpp"
#include "sandbox/backend.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cmcp {

class bash_manager;
class command_shells;
class file_access;
class file_searcher;
class file_viewer;
class job_manager;
class kernel_manager;
class language_trials;
class previews;
class python_manager;
class sandbox_files;
class sandbox_manager;
class sandbox_packages;
class sandbox_runner;
class sandbox_services;
class shell_manager;
class tool_registry;
class upstream_servers;
class web_browser;
class web_scraper;
class web_searcher;
struct settings;

using tool_owner = std::unique_ptr<tool>;

/// Both null: there are no sandboxes.
struct pages_of_sandboxes {
    previews* shown = nullptr;
    sandbox_manager* sandboxes = nullptr;
};

/// For the file tools; all outlive them.
struct file_tool_parts {
    sandbox_files& files;
    sandbox_manager& sandboxes;
    const settings& config;
};

/// Defines the profiles of tools, and shows to each caller those that the settings name. Throws config_error for a name
/// that means nothing.
void choose_tools(tool_registry& tools, const settings& config);

/// The text that a model reads at first, at most 200 words where every tool works: the use of the tools that the caller
/// is shown, and how to switch on those that cannot work.
std::string instructions_for(const tool_registry& tools, const caller& who);

/// [{name, state, detail}]
json::array layers_json(const sandbox::layers& layers);

// Each function is in the file of its group's name and adds that group, in the order of tools/list. Its arguments must
// outlive the registry.

/// system_run_command, system_run_python. Where `jobs` is null, nothing runs in the background.
void add_system_runs(tool_registry& registry, sandbox_runner& runs, bash_manager& bash, python_manager& python,
                     job_manager* jobs);
tool_owner make_system_env_var(const settings& config);
/// The use of a principal of what it may have, as a row of /admin/usage.
using usage_of_principal = std::function<json::object(const std::string& principal)>;

tool_owner make_system_info(sandbox::backend& backend, sandbox_runner& runs, bash_manager& bash, python_manager& python,
                            const settings& config, usage_of_principal usage);

/// file_read, file_write, file_edit, file_list, file_delete, file_move
void add_file_tools(tool_registry& registry, const file_tool_parts& parts);
tool_owner make_file_search(file_searcher& searcher, const file_access& access);
tool_owner make_file_edit(const file_access& access);
tool_owner make_list_sandbox_files(const file_access& access);
tool_owner make_view_file(file_viewer& viewer, const file_access& access);

/// web_search, web_scrape, web_browse
/// `pages`: those that web_browse opens within sandboxes.
void add_web_tools(tool_registry& registry, web_searcher& searcher, web_scraper& scraper, web_browser& browser,
                   pages_of_sandboxes pages);

/// call_upstream, for code alone
tool_owner make_call_upstream(upstream_servers& servers);

/// The tools of other servers for code; `servers` must outlive it.
other_tools tools_of_upstreams(upstream_servers& servers);

/// initialize_sandbox, execute_code, stop_sandbox
void add_interpreter_tools(tool_registry& registry, sandbox_runner& runs, kernel_manager& kernels,
                           language_trials& languages, job_manager& jobs);

/// create_sandbox, list_sandboxes, delete_sandbox
void add_sandbox_tools(tool_registry& registry, sandbox_manager& sandboxes, previews& shown, sandbox_services& services,
                       const settings& config);

/// execute_python_code, execute_terminal_command, install_packages_in_sandbox
void add_sandbox_run_tools(tool_registry& registry, sandbox_runner& runs, kernel_manager& kernels,
                           command_shells& shells, sandbox_packages& packages, job_manager& jobs,
                           sandbox_services& services, const settings& config);

/// upload_file_to_sandbox, download_file_from_sandbox, list_sandbox_files
void add_sandbox_file_tools(tool_registry& registry, const file_access& access, sandbox_files& files,
                            sandbox_manager& sandboxes);

/// fork_sandbox, snapshot_sandbox, restore_sandbox, interrupt_kernel, restart_kernel
void add_sandbox_state_tools(tool_registry& registry, kernel_manager& kernels, sandbox_manager& sandboxes);

/// pause_sandbox, resume_sandbox
void add_pause_tools(tool_registry& registry, sandbox_manager& sandboxes);

/// expose_port, list_exposed_ports, unexpose_port
void add_port_tools(tool_registry& registry, previews& shown, sandbox_manager& sandboxes, const settings& config);

/// shell_open, shell_send, shell_read, shell_close
void add_shell_tools(tool_registry& registry, shell_manager& shells, sandbox_manager& sandboxes);

/// job_poll, job_list, job_kill
void add_job_tools(tool_registry& registry, job_manager& jobs);

/// search_tools, call_tool: of the profile `discover`
void add_discovery_tools(tool_registry& registry);

}  // namespace cmcp
