#include "app/managers.hpp"

#include "config/settings.hpp"
#include "mcp/server_core.hpp"
#include "metrics/registry.hpp"
#include "runs/stored_results.hpp"
#include "sandboxes/node_name.hpp"
#include "sandboxes/sandbox_calls.hpp"
#include "sandboxes/sandbox_resources.hpp"
#include "text/handles.hpp"
#include "tools/file_access.hpp"
#include "tools/tools.hpp"

#include <algorithm>

namespace cmcp {
namespace {

constexpr auto ending_limit = std::chrono::seconds(5);
constexpr auto release_limit = std::chrono::seconds(25);

admission_limits admission_from(const settings& config, quotas& of_principals)
{
    admission_limits limits;
    limits.at_once = runs_at_once(config);
    limits.per_caller = std::max<std::size_t>(1, limits.at_once - 1);
    limits.of_principal = of_principals.each(&principal_limits::runs);
    return limits;
}

// Jobs that sleep take no place of a call that somebody waits for.
admission_limits job_admission_from(const settings& config, std::size_t runs_at_once)
{
    admission_limits limits;
    limits.at_once = config.max_jobs != 0 ? config.max_jobs : runs_at_once;
    limits.per_caller = std::max<std::size_t>(1, limits.at_once - 1);
    limits.waiting = std::max(limits.waiting, 2 * limits_from(config).jobs);
    limits.what = "job";
    limits.reports_positions = true;
    return limits;
}

awaitable<> end_shells(shell_manager& shells, std::string id) { co_await shells.end_all(std::move(id)); }

awaitable<> end_command_shell(command_shells& shells, std::string id) { co_await shells.end(std::move(id)); }

awaitable<> end_kernel(kernel_manager& kernels, std::string id) { co_await kernels.end(std::move(id)); }

void add_languages(managers& all, const settings& config, const asio::any_io_executor& executor)
{
    const auto maker = [&runs = *all.sandbox_runs](const language& of, const std::string& program, std::string source) {
        return runs.trial(of, program, std::move(source));
    };
    language_trials::parts parts{
        executor, all.backend, *all.admission, *all.pool, config.sandbox_root / "languages.json", maker};
    all.languages = std::make_unique<language_trials>(std::move(parts));
    all.sandbox_runs->use(*all.languages);
}

void add_sandboxes(managers& all, const settings& config, const asio::any_io_executor& executor)
{
    add_languages(all, config, executor);
    all.jobs = std::make_unique<job_manager>(*all.limits, *all.background, config.calls_become_jobs);
    all.services = std::make_unique<sandbox_services>(executor, all.backend, *all.sandbox_runs, *all.jobs);
    all.kernels = std::make_unique<kernel_manager>(config, executor, all.backend, *all.sandbox_runs);
    all.packages = std::make_unique<sandbox_packages>(config, executor, all.backend, *all.sandbox_runs, *all.pool);
    all.kernels->use(*all.packages);
    all.shells = std::make_unique<shell_manager>(config, executor, all.backend, *all.sandbox_runs, *all.pool);
    all.command_shells_ = std::make_unique<command_shells>(config, executor, all.backend, *all.sandbox_runs);
    all.sandboxes->on_stop(
        [&shells = *all.command_shells_](std::string id) { return end_command_shell(shells, std::move(id)); });
    all.sandboxes->on_stop([&shells = *all.shells](std::string id) { return end_shells(shells, std::move(id)); });
    all.sandboxes->on_stop([&kernels = *all.kernels](std::string id) { return end_kernel(kernels, std::move(id)); });
    all.sandboxes->count_idle([&kernels = *all.kernels](const std::string& id) { return kernels.idle_in(id); });
    all.sandboxes->count_idle(
        [&shells = *all.command_shells_](const std::string& id) { return shells.is_idle(id) ? 1u : 0u; });
    all.sandboxes->before_stop([&kernels = *all.kernels](std::string id, std::string why) {
        return kernels.keep(std::move(id), std::move(why));
    });
    all.shown = std::make_unique<previews>(executor, config, all.backend, *all.sandboxes, *all.pool);
    if (config.jupyter_api)
        all.jupyter_ = std::make_unique<jupyter::jupyter_api>(config, executor, *all.kernels, *all.sandboxes,
                                                              *all.sandbox_files_, *all.pool);
    if (!config.snapshot_store.empty())
        all.vault = std::make_unique<sandbox_vault>(executor, config, *all.sandboxes, *all.kernels);
    if (auto* vault = all.vault.get())
        all.sandboxes->leases().keep_by([vault](std::string id) { return vault->keep(std::move(id)); });
    e2b::e2b_api::parts of_e2b{
        config,       executor,   all.backend,         *all.sandbox_runs,
        *all.kernels, *all.shown, *all.sandbox_files_, config.memory_limit + config.kernel_memory_limit};
    all.e2b_ = std::make_unique<e2b::e2b_api>(std::move(of_e2b));
    all.sandboxes->on_stop([&shown = *all.shown](std::string id) { return shown.sandbox_stopped(std::move(id)); });
}

// Their files last as long as config.toml names their servers.
void keep_sandboxes_of_upstreams(sandbox_manager& sandboxes, const settings& config)
{
    sandboxes.keep_those([&config](const sandbox_record& each) {
        if (each.owner != upstream_servers::principal) return false;
        return std::ranges::any_of(config.upstreams, [&](const auto& entry) {
            return upstream_servers::sandbox_name(entry.name) == each.name;
        });
    });
}

awaitable<std::filesystem::path> place_of_outputs(sandbox_manager& sandboxes, blocking_pool& pool, caller who)
{
    auto where = sandboxes.place_of_outputs(who);
    auto files = sandboxes.places().files(where);
    auto make = [places = sandboxes.places(), where = std::move(where)] { places.make_files(where); };
    co_await pool.run(who.principal, std::move(make));
    co_return files;
}

void observe(managers& all)
{
    auto& figures = metrics::all();
    const auto* admission = all.admission.get();
    const auto* jobs = all.job_admission.get();
    figures.observe(&all, "cmcp_runs_running", "Sandboxed runs that have a place.",
                    [=] { return static_cast<double>(admission->running() + jobs->running()); });
    figures.observe(&all, "cmcp_runs_waiting", "Sandboxed runs that wait for a slot.",
                    [=] { return static_cast<double>(admission->waiting() + jobs->waiting()); });
}

}  // namespace

awaitable<> managers::start()
{
    co_await sandboxes->start();
    if (vault) co_await vault->start();
    if (languages) languages->start();
}

awaitable<> managers::stop()
{
    if (languages) co_await languages->stop();
    co_await upstreams->stop();
    background->stop();
    co_await background->wait_idle(ending_limit);
    if (services) co_await services->stop();
    if (jupyter_) co_await jupyter_->stop();
    if (e2b_) co_await e2b_->stop();
    if (shells) co_await shells->stop();
    if (command_shells_) co_await command_shells_->stop();
    if (kernels) co_await kernels->stop();
    if (vault) {
        sandbox_error why("StateError", "The server ends: processes of the sandbox have ended, its files are kept.");
        co_await sandboxes->end_everything(std::move(why));
        co_await vault->release_all(release_limit);
    }
    co_await sandboxes->stop();
}

managers::managers(sandbox::backend& runs, const std::filesystem::path& root)
    : backend(runs), records(std::filesystem::absolute(root).lexically_normal() / "sandboxes")
{
}

managers::~managers()
{
    backend.on_full({});
    metrics::all().remove(this);
}

std::unique_ptr<managers> make_managers(const settings& config, sandbox::backend& backend,
                                        asio::any_io_executor executor)
{
    auto all = std::make_unique<managers>(backend, config.sandbox_root);
    const handle_maker handles(node_name(config));
    all->node = handles.node();
    all->limits = std::make_unique<quotas>(config);
    all->pool = std::make_shared<blocking_pool>();
    all->background = std::make_shared<job_register>(executor, all->records, *all->pool, handles);
    all->watch = std::make_unique<file_watch>(executor);
    all->outputs = std::make_unique<output_store>(*all->pool, output_store::limits(),
                                                  config.cluster_etcd.empty() ? std::string() : handles.node());
    const auto of_runs = admission_from(config, *all->limits);
    all->admission = std::make_unique<run_admission>(of_runs);
    all->job_admission = std::make_unique<run_admission>(job_admission_from(config, of_runs.at_once));
    observe(*all);
    const runner runs(all->backend, *all->outputs, *all->admission, *all->job_admission, *all->pool);
    all->bash = std::make_unique<bash_manager>(config);
    all->python = std::make_unique<python_manager>(config);
    all->sandboxes = std::make_unique<sandbox_manager>(config, executor, all->backend, *all->pool, all->records,
                                                       *all->limits, handles);
    all->sandbox_runs = std::make_unique<sandbox_runner>(config, *all->sandboxes, runs, *all->pool);
    all->sandbox_files_ = std::make_unique<sandbox_files>(config, *all->sandboxes, *all->pool);
    all->backend.on_full(
        [&sandboxes = *all->sandboxes](sandbox::cell_name name) { return sandboxes.make_room(std::move(name)); });
    all->viewer = std::make_unique<file_viewer>(config, all->backend, *all->admission, *all->pool);
    all->searcher =
        std::make_unique<file_searcher>(all->backend, *all->admission, *all->pool, file_searcher::has_ripgrep());
    if (config.enable_sandbox) add_sandboxes(*all, config, executor);
    all->upstreams = std::make_unique<upstream_servers>(executor, config, backend, *all->pool,
                                                        config.enable_sandbox ? all->sandbox_runs.get() : nullptr);
    keep_sandboxes_of_upstreams(*all->sandboxes, config);
    all->records.share();
    if (!config.enable_web) return all;
    all->web = std::make_unique<web_manager>(config, backend, *all->admission, *all->pool, executor);
    all->browser =
        std::make_unique<web_browser>(executor, config, backend, all->web->guard, all->web->reader, *all->pool);
    return all;
}

void register_tools(tool_registry& registry, managers& all, const settings& config, usage_of_principal usage)
{
    if (config.enable_system) {
        add_system_runs(registry, *all.sandbox_runs, *all.bash, *all.python, all.jobs.get());
        registry.add(make_system_env_var(config));
        registry.add(
            make_system_info(all.backend, *all.sandbox_runs, *all.bash, *all.python, config, std::move(usage)));
    }
    const file_tool_parts parts{*all.sandbox_files_, *all.sandboxes, config};
    const file_access places(parts, registry);
    if (config.enable_file) {
        add_file_tools(registry, parts);
        registry.add(make_file_search(*all.searcher, places));
    }
    if (config.enable_file || config.enable_sandbox) registry.add(make_view_file(*all.viewer, places));
    if (config.enable_web)
        add_web_tools(registry, all.web->searcher, all.web->scraper, *all.browser,
                      {all.shown.get(), all.shown ? all.sandboxes.get() : nullptr});
    add_discovery_tools(registry);
    if (!config.enable_sandbox) return;
    add_interpreter_tools(registry, *all.sandbox_runs, *all.kernels, *all.languages, *all.jobs);
    add_sandbox_tools(registry, *all.sandboxes, *all.shown, *all.services, config);
    add_sandbox_run_tools(registry, *all.sandbox_runs, *all.kernels, *all.command_shells_, *all.packages, *all.jobs,
                          *all.services, config);
    add_sandbox_file_tools(registry, places, *all.sandbox_files_, *all.sandboxes);
    add_sandbox_state_tools(registry, *all.kernels, *all.sandboxes);
    add_pause_tools(registry, *all.sandboxes);
    add_port_tools(registry, *all.shown, *all.sandboxes, config);
    add_shell_tools(registry, *all.shells, *all.sandboxes);
    add_job_tools(registry, *all.jobs);
    if (!config.upstreams.empty()) registry.add(make_call_upstream(*all.upstreams));
}

void register_resources(server_core& core, managers& all)
{
    core.keep_results(
        std::make_unique<stored_results>(*all.outputs, [&sandboxes = *all.sandboxes, &pool = *all.pool](caller who) {
            return place_of_outputs(sandboxes, pool, std::move(who));
        }));
    core.keep_calls(std::make_unique<sandbox_calls>(*all.sandboxes, *all.pool));
    core.add_resources(std::make_unique<sandbox_resources>(*all.sandboxes, *all.sandbox_files_, *all.watch, *all.pool));
}

}  // namespace cmcp
