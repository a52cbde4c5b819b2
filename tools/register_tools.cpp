#include "app/managers.hpp"
#include "mcp/tool_registry.hpp"
#include "tools/tools.hpp"
#include "web/web_manager.hpp"

namespace cmcp {
namespace {

void register_system_tools(tool_registry& registry, managers& all, const settings& config)
{
    registry.add(make_system_run_command(*all.bash, all.jobs.get()));
    registry.add(make_system_run_python(*all.python, all.jobs.get()));
    registry.add(make_system_env_var(config));
    registry.add(make_system_info(all.native, *all.bash, *all.python, config));
}

void register_file_tools(tool_registry& registry, file_manager& files)
{
    registry.add(make_file_read(files));
    registry.add(make_file_write(files));
    registry.add(make_file_list(files));
    registry.add(make_file_delete(files));
    registry.add(make_file_move(files));
}

void register_web_tools(tool_registry& registry, web_manager& web, web_browser& browser)
{
    registry.add(make_web_search(web.searcher));
    registry.add(make_web_scrape(web.scraper));
    registry.add(make_web_browse(browser));
}

void register_sandbox_tools(tool_registry& registry, managers& all, const settings& config)
{
    auto& sandboxes = *all.sandboxes;
    auto& runs = *all.sandbox_runs;
    auto& kernels = *all.kernels;
    auto& jobs = *all.jobs;
    auto& files = *all.sandbox_files_;
    registry.add(make_initialize_sandbox(sandboxes, *all.languages));
    registry.add(make_execute_code(runs, kernels, *all.languages, jobs, *all.pool));
    registry.add(make_stop_sandbox(sandboxes));
    registry.add(make_create_sandbox(sandboxes, config));
    registry.add(make_list_sandboxes(sandboxes));
    registry.add(make_delete_sandbox(sandboxes));
    registry.add(make_execute_python_code(runs, kernels, jobs, *all.pool));
    registry.add(make_execute_terminal_command(runs, jobs, *all.pool));
    registry.add(make_install_packages_in_sandbox(*all.packages, sandboxes, jobs, config));
    registry.add(make_upload_file_to_sandbox(files, sandboxes));
    registry.add(make_download_file_from_sandbox(files, sandboxes));
    registry.add(make_list_sandbox_files(files, sandboxes));
    registry.add(make_fork_sandbox(kernels, sandboxes));
    registry.add(make_snapshot_sandbox(sandboxes));
    registry.add(make_restore_sandbox(sandboxes));
    registry.add(make_interrupt_kernel(kernels, sandboxes));
    registry.add(make_restart_kernel(kernels, sandboxes));
    registry.add(make_job_poll(jobs));
    registry.add(make_job_list(jobs));
    registry.add(make_job_kill(jobs));
}

}  // namespace

void register_tools(tool_registry& registry, managers& all, const settings& config)
{
    if (config.enable_system) register_system_tools(registry, all, config);
    if (config.enable_file) register_file_tools(registry, *all.files);
    if (config.enable_web) register_web_tools(registry, *all.web, *all.browser);
    if (config.enable_sandbox) register_sandbox_tools(registry, all, config);
}

}  // namespace cmcp
