#include "managers/managers.hpp"

#include "async/blocking_pool.hpp"
#include "managers/bash_manager.hpp"
#include "managers/file_manager.hpp"
#include "managers/output_store.hpp"
#include "managers/python_manager.hpp"
#include "managers/run_admission.hpp"
#include "managers/web_browser.hpp"
#include "managers/web_manager.hpp"
#include "managers/workspaces.hpp"

#include <algorithm>
#include <thread>

namespace cmcp {
namespace {

admission_limits admission_from(const settings& chosen)
{
    admission_limits limits;
    const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
    limits.at_once = chosen.max_runs != 0 ? chosen.max_runs : 4 * cores;
    const std::size_t all_but_one = std::max<std::size_t>(1, limits.at_once - 1);
    limits.per_caller = chosen.max_runs_per_caller != 0 ? chosen.max_runs_per_caller : all_but_one;
    return limits;
}

}  // namespace

managers::managers(sandbox::backend& chosen) : backend(chosen) {}
managers::~managers() = default;

std::unique_ptr<managers> make_managers(const settings& chosen, sandbox::backend& backend,
                                        asio::any_io_executor executor)
{
    auto all = std::make_unique<managers>(backend);
    all->pool = std::make_unique<blocking_pool>();
    all->places = std::make_unique<workspaces>(workspaces::from_settings(chosen));
    all->files = std::make_unique<file_manager>(file_manager::from_settings(chosen, *all->pool, *all->places));
    all->outputs = std::make_unique<output_store>(*all->pool);
    all->admission = std::make_unique<run_admission>(executor, admission_from(chosen));
    const runner runs(backend, *all->places, *all->outputs, *all->admission, *all->pool);
    all->bash = std::make_unique<bash_manager>(chosen, runs);
    all->python = std::make_unique<python_manager>(chosen, runs);
    if (!chosen.enable_web) return all;
    all->web = std::make_unique<web_manager>(chosen, backend, *all->admission, *all->pool, executor);
    all->browser = std::make_unique<web_browser>(executor, chosen, all->web->guard());
    return all;
}

}  // namespace cmcp
