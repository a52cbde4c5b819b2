#include "tools/register_tools.hpp"

#include "files/file_manager.hpp"
#include "runs/bash_manager.hpp"
#include "runs/python_manager.hpp"
#include "tools/file_delete.hpp"
#include "tools/file_list.hpp"
#include "tools/file_move.hpp"
#include "tools/file_read.hpp"
#include "tools/file_write.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/system_env_var.hpp"
#include "tools/system_info.hpp"
#include "tools/system_run_command.hpp"
#include "tools/system_run_python.hpp"
#include "tools/web_browse.hpp"
#include "tools/web_scrape.hpp"
#include "tools/web_search.hpp"
#include "web/web_manager.hpp"

namespace cmcp {
namespace {

void register_system_tools(tool_registry& registry, managers& all, const settings& chosen)
{
    registry.add(std::make_unique<system_run_command>(*all.bash, all.jobs.get()));
    registry.add(std::make_unique<system_run_python>(*all.python, all.jobs.get()));
    registry.add(std::make_unique<system_env_var>(chosen));
    registry.add(std::make_unique<system_info>(all, chosen));
}

void register_file_tools(tool_registry& registry, managers& all)
{
    registry.add(std::make_unique<file_read>(*all.files));
    registry.add(std::make_unique<file_write>(*all.files));
    registry.add(std::make_unique<file_list>(*all.files));
    registry.add(std::make_unique<file_delete>(*all.files));
    registry.add(std::make_unique<file_move>(*all.files));
}

void register_web_tools(tool_registry& registry, managers& all)
{
    registry.add(std::make_unique<web_search>(all.web->searcher()));
    registry.add(std::make_unique<web_scrape>(all.web->scraper()));
    registry.add(std::make_unique<web_browse>(*all.browser));
}

void register_sandbox_tools(tool_registry& registry, managers& all, const settings& chosen)
{
    registry.add(make_initialize_sandbox(all));
    registry.add(make_execute_code(all));
    registry.add(make_stop_sandbox(all));
    registry.add(make_create_sandbox(all, chosen));
    registry.add(make_list_sandboxes(all));
    registry.add(make_delete_sandbox(all));
    registry.add(make_execute_python_code(all));
    registry.add(make_execute_terminal_command(all));
    registry.add(make_install_packages_in_sandbox(all, chosen));
    registry.add(make_upload_file_to_sandbox(all));
    registry.add(make_download_file_from_sandbox(all));
    registry.add(make_list_sandbox_files(all));
    registry.add(make_fork_sandbox(all));
    registry.add(make_snapshot_sandbox(all));
    registry.add(make_restore_sandbox(all));
    registry.add(make_interrupt_kernel(all));
    registry.add(make_restart_kernel(all));
    registry.add(make_job_poll(all));
    registry.add(make_job_list(all));
    registry.add(make_job_kill(all));
}

}  // namespace

void register_tools(tool_registry& registry, managers& all, const settings& chosen)
{
    if (chosen.enable_system) register_system_tools(registry, all, chosen);
    if (chosen.enable_file) register_file_tools(registry, all);
    if (chosen.enable_web) register_web_tools(registry, all);
    if (chosen.enable_sandbox) register_sandbox_tools(registry, all, chosen);
}

}  // namespace cmcp
