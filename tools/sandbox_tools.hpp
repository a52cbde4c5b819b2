#pragma once

#include "app/managers.hpp"
#include "config/settings.hpp"
#include "mcp/tool.hpp"

#include <memory>

/// One function a tool, each in the file of its name. What they are given must outlive the tool.
namespace cmcp {

std::unique_ptr<tool> make_initialize_sandbox(managers& all);
std::unique_ptr<tool> make_execute_code(managers& all);
std::unique_ptr<tool> make_stop_sandbox(managers& all);

std::unique_ptr<tool> make_create_sandbox(managers& all, const settings& chosen);
std::unique_ptr<tool> make_list_sandboxes(managers& all);
std::unique_ptr<tool> make_delete_sandbox(managers& all);
std::unique_ptr<tool> make_execute_python_code(managers& all);
std::unique_ptr<tool> make_execute_terminal_command(managers& all);
std::unique_ptr<tool> make_install_packages_in_sandbox(managers& all, const settings& chosen);
std::unique_ptr<tool> make_upload_file_to_sandbox(managers& all);
std::unique_ptr<tool> make_download_file_from_sandbox(managers& all);
std::unique_ptr<tool> make_list_sandbox_files(managers& all);
std::unique_ptr<tool> make_fork_sandbox(managers& all);
std::unique_ptr<tool> make_snapshot_sandbox(managers& all);
std::unique_ptr<tool> make_restore_sandbox(managers& all);

std::unique_ptr<tool> make_interrupt_kernel(managers& all);
std::unique_ptr<tool> make_restart_kernel(managers& all);

std::unique_ptr<tool> make_job_poll(managers& all);
std::unique_ptr<tool> make_job_list(managers& all);
std::unique_ptr<tool> make_job_kill(managers& all);

}  // namespace cmcp
