#pragma once

#include "async/blocking_pool.hpp"
#include "e2b/e2b_api.hpp"
#include "files/file_watch.hpp"
#include "identity/quotas.hpp"
#include "jobs/job_register.hpp"
#include "jupyter/jupyter_api.hpp"
#include "kernels/kernel_manager.hpp"
#include "packages/sandbox_packages.hpp"
#include "preview/previews.hpp"
#include "runs/bash_manager.hpp"
#include "runs/file_searcher.hpp"
#include "runs/file_viewer.hpp"
#include "runs/output_collector.hpp"
#include "runs/python_run.hpp"
#include "runs/run_admission.hpp"
#include "sandboxes/job_manager.hpp"
#include "sandboxes/language_trials.hpp"
#include "sandboxes/sandbox_files.hpp"
#include "sandboxes/sandbox_manager.hpp"
#include "sandboxes/sandbox_runner.hpp"
#include "sandboxes/sandbox_services.hpp"
#include "shells/command_shells.hpp"
#include "shells/shell_manager.hpp"
#include "store/record_folder.hpp"
#include "tools/tools.hpp"
#include "upstream/upstream_servers.hpp"
#include "vault/sandbox_vault.hpp"
#include "web/web_browser.hpp"
#include "web/web_manager.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace cmcp {

class server_core;
class tool_registry;
struct settings;

/// The policies of all domains: one object each, made once, used on the io thread.
struct managers {
    managers(sandbox::backend& runs, const std::filesystem::path& root);
    managers(const managers&) = delete;
    managers& operator=(const managers&) = delete;
    ~managers();

    sandbox::backend& backend;  ///< outlives this
    record_folder records;
    std::string node;                              ///< this machine's name in handles
    std::unique_ptr<quotas> limits;                ///< of each principal
    std::shared_ptr<blocking_pool> pool;           ///< first, so that it goes last: threads still use the others
    std::shared_ptr<job_register> background;      ///< jobs and tasks
    std::unique_ptr<file_watch> watch;             ///< who subscribed to files is told of changes
    std::unique_ptr<output_store> outputs;         ///< long output of runs, as files of their sandboxes
    std::unique_ptr<run_admission> admission;      ///< how many runs at once
    std::unique_ptr<run_admission> job_admission;  ///< how many in the background
    std::unique_ptr<bash_manager> bash;
    std::unique_ptr<python_manager> python;
    std::unique_ptr<file_viewer> viewer;
    std::unique_ptr<file_searcher> searcher;
    std::unique_ptr<sandbox_manager> sandboxes;
    std::unique_ptr<sandbox_runner> sandbox_runs;
    std::unique_ptr<sandbox_files> sandbox_files_;
    std::unique_ptr<web_manager> web;      ///< null when TOOLS_ENABLE_WEB is false
    std::unique_ptr<web_browser> browser;  ///< goes before the guard

    // What more there is in sandboxes, and jobs; null unless TOOLS_ENABLE_SANDBOX.
    std::unique_ptr<language_trials> languages;
    std::unique_ptr<job_manager> jobs;
    std::unique_ptr<sandbox_services> services;
    std::unique_ptr<kernel_manager> kernels;
    std::unique_ptr<shell_manager> shells;
    std::unique_ptr<command_shells> command_shells_;
    std::unique_ptr<sandbox_packages> packages;
    std::unique_ptr<previews> shown;                 ///< ports of sandboxes
    std::unique_ptr<jupyter::jupyter_api> jupyter_;  ///< null when JUPYTER_API is false

    std::unique_ptr<sandbox_vault> vault;  ///< null unless SNAPSHOT_STORE names one
    std::unique_ptr<e2b::e2b_api> e2b_;    ///< null unless TOOLS_ENABLE_SANDBOX

    std::unique_ptr<upstream_servers> upstreams;  ///< other MCP servers, of which there may be none

    awaitable<> start();  ///< looks after sandboxes from now on
    awaitable<> stop();   ///< ends jobs and all that runs by itself; before the destruction
};

/// `config` and `backend` must outlive what is returned.
std::unique_ptr<managers> make_managers(const settings& config, sandbox::backend& backend,
                                        asio::any_io_executor executor);

/// Adds the tools on offer, in their fixed order; TOOLS_ENABLE_* leave groups out. `all` and `config` must outlive the
/// registry.
void register_tools(tool_registry& registry, managers& all, const settings& config, usage_of_principal usage);

/// Adds the files of sandboxes (and with them long outputs) to what resources/list and resources/read offer.
void register_resources(server_core& core, managers& all);

}  // namespace cmcp
