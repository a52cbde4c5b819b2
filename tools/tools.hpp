#pragma once

#include "config/settings.hpp"
#include "mcp/tool.hpp"
#include "sandbox/backend.hpp"

#include <memory>
#include <string>

namespace cmcp {

class bash_manager;
class blocking_pool;
class file_manager;
class job_manager;
class kernel_manager;
class language_trials;
class python_manager;
class sandbox_files;
class sandbox_manager;
class sandbox_packages;
class sandbox_runner;
class tool_registry;
class web_browser;
class web_scraper;
class web_searcher;
struct managers;

using tool_owner = std::unique_ptr<tool>;

/// Adds the tools on offer, in their fixed order; TOOLS_ENABLE_* leave groups out. `all` and `config` must outlive the
/// registry.
void register_tools(tool_registry& registry, managers& all, const settings& config);

/// The text that a model reads at first: the use of the tools on offer, and how to switch on those that cannot work.
std::string instructions_for(const tool_registry& tools);

// A function for each tool, in the file of the tool's name. Its arguments must outlive the tool.

/// Where `jobs` is null, nothing runs in the background.
tool_owner make_system_run_command(bash_manager& bash, job_manager* jobs);
tool_owner make_system_run_python(python_manager& python, job_manager* jobs);
tool_owner make_system_env_var(const settings& config);
tool_owner make_system_info(sandbox::backend& backend, bash_manager& bash, python_manager& python,
                            const settings& config);

tool_owner make_file_read(file_manager& files);
tool_owner make_file_write(file_manager& files);
tool_owner make_file_list(file_manager& files);
tool_owner make_file_delete(file_manager& files);
tool_owner make_file_move(file_manager& files);

tool_owner make_web_search(web_searcher& searcher);
tool_owner make_web_scrape(web_scraper& scraper);
tool_owner make_web_browse(web_browser& browser);

tool_owner make_initialize_sandbox(sandbox_manager& sandboxes, language_trials& languages);
tool_owner make_execute_code(sandbox_runner& runs, kernel_manager& kernels, language_trials& languages,
                             job_manager& jobs, blocking_pool& pool);
tool_owner make_stop_sandbox(sandbox_manager& sandboxes);

tool_owner make_create_sandbox(sandbox_manager& sandboxes, const settings& config);
tool_owner make_list_sandboxes(sandbox_manager& sandboxes);
tool_owner make_delete_sandbox(sandbox_manager& sandboxes);
tool_owner make_execute_python_code(sandbox_runner& runs, kernel_manager& kernels, job_manager& jobs,
                                    blocking_pool& pool);
tool_owner make_execute_terminal_command(sandbox_runner& runs, job_manager& jobs, blocking_pool& pool);
tool_owner make_install_packages_in_sandbox(sandbox_packages& packages, sandbox_manager& sandboxes, job_manager& jobs,
                                            const settings& config);
tool_owner make_upload_file_to_sandbox(sandbox_files& files, sandbox_manager& sandboxes);
tool_owner make_download_file_from_sandbox(sandbox_files& files, sandbox_manager& sandboxes);
tool_owner make_list_sandbox_files(sandbox_files& files, sandbox_manager& sandboxes);
tool_owner make_fork_sandbox(kernel_manager& kernels, sandbox_manager& sandboxes);
tool_owner make_snapshot_sandbox(sandbox_manager& sandboxes);
tool_owner make_restore_sandbox(sandbox_manager& sandboxes);

tool_owner make_interrupt_kernel(kernel_manager& kernels, sandbox_manager& sandboxes);
tool_owner make_restart_kernel(kernel_manager& kernels, sandbox_manager& sandboxes);

tool_owner make_job_poll(job_manager& jobs);
tool_owner make_job_list(job_manager& jobs);
tool_owner make_job_kill(job_manager& jobs);

}  // namespace cmcp
