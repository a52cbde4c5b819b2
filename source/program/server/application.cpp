#include "server/application.hpp"

#include "app/holdings.hpp"
#include "app/issuer_fetch.hpp"
#include "cluster/cluster_routes.hpp"
#include "cluster/placement.hpp"
#include "config/config_error.hpp"
#include "config/settings.hpp"
#include "log/log.hpp"
#include "metrics/registry.hpp"
#include "prebuilt/version.hpp"
#include "sandboxes/language_trials.hpp"
#include "sandboxes/rest_files.hpp"
#include "sandboxes/sandbox_files.hpp"
#include "sandboxes/sandbox_manager.hpp"
#include "secrets/rest_secrets.hpp"
#include "server/balancer_agent.hpp"
#include "server/connect_lines.hpp"
#include "shells/rest_shell.hpp"
#include "store/database.hpp"
#include "tools/tools.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <filesystem>

namespace cmcp::command {

namespace {

awaitable<std::chrono::milliseconds> begin_alone(quotas& own, std::string principal, bool counts)
{
    co_return counts ? own.take_call(principal) : std::chrono::milliseconds(0);
}

reported_by_server told_by(managers& all, std::function<json::object()> load)
{
    holdings_source holdings;
    holdings.of = [&all](const std::string& principal) { return holdings_of(all, principal); };
    holdings.owners = [&all] { return holders(all); };
    holdings.listed = [&all] { return listed_owners(all); };
    return {*all.limits, std::move(holdings), std::move(load)};
}

other_nodes::wish needs_of(const sandbox_record& of) { return {of.image, labels_in(of.labels)}; }

moving_sandboxes moving(sandbox_vault* vault, std::function<bool()> in_touch)
{
    moving_sandboxes all;
    if (vault == nullptr) return all;
    all.may_pass_on = std::move(in_touch);
    all.node_of = [vault](std::string_view handle) { return vault->moved_to(handle); };
    all.is_here = [vault](const std::string& handle) { return vault->is_here(handle); };
    all.find = [vault](std::string handle, std::string node, gone_question is_gone) {
        return vault->find(std::move(handle), std::move(node), std::move(is_gone));
    };
    all.has_lost = [vault](const std::string& principal, std::chrono::steady_clock::time_point since) {
        return vault->has_lost(principal, since);
    };
    all.default_sandbox = [vault](const std::string& principal) { return vault->default_of(principal); };
    all.needs_of = [vault](const std::string& handle) {
        const auto here = vault->find_here(handle);
        return here ? needs_of(*here) : other_nodes::wish();
    };
    all.all = [vault] { return vault->sandboxes(); };
    all.idle = [vault](bool stopped) { return vault->idle_sandboxes(stopped); };
    all.hand_over = [vault](std::string handle, std::string to, std::function<awaitable<bool>()> take) {
        return vault->hand_over(std::move(handle), std::move(to), std::move(take));
    };
    return all;
}

awaitable<bool> is_home(member_calls& calls, std::string principal)
{
    caller who;
    who.principal = std::move(principal);
    const auto elsewhere = co_await calls.home_of(who);
    co_return elsewhere.empty();
}

core_limits limits_of(const settings& config, const managers& all, const std::unique_ptr<cluster>& with)
{
    auto& of_principals = *all.limits;
    core_limits limits;
    limits.pool = all.pool;
    limits.tasks.of_caller = of_principals.each(&principal_limits::tasks);
    limits.begin_call = [&of_principals](const std::string& principal, bool counts) {
        return begin_alone(of_principals, principal, counts);
    };
    limits.tasks.after = config.task_after;
    limits.results.usual = config.result_limit;
    limits.format = parse_result_format(config.result_format).value_or(result_format::automatic);
    if (with) with->join(limits);
    return limits;
}

server_identity identity()
{
    server_identity who;
    who.version = CMCP_VERSION;
    return who;
}

// The managers keep records and folders below SANDBOX_ROOT from their start on.
std::unique_ptr<managers> managers_below_root(const settings& config, sandbox::native_backend& backend,
                                              asio::any_io_executor executor)
{
    std::string reason;
    try {
        return make_managers(config, backend, std::move(executor));
    } catch (const std::filesystem::filesystem_error& e) {
        reason = e.what();
    } catch (const database_error& e) {
        reason = e.what();
    }
    throw config_error("the server's files in SANDBOX_ROOT=" + config.sandbox_root.string() + " cannot be kept (" +
                       reason + "): make room there, or set it to a folder that this user may write to");
}

json::array names(const sandbox::layers& layers, sandbox::layer::state wanted)
{
    json::array all;
    for (const auto& layer : layers)
        if (layer.is == wanted) all.emplace_back(layer.name);
    return all;
}

void log_layers(const sandbox::layers& layers, std::string_view backend)
{
    using state = sandbox::layer::state;
    log::info("sandbox_ready", {{"backend", json::string(backend)},
                                {"on", names(layers, state::on)},
                                {"degraded", names(layers, state::degraded)},
                                {"off", names(layers, state::off)}});
}

awaitable<> record_running_calls(server_core& core)
{
    constexpr std::chrono::seconds long_call(1);
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor);
    for (;;) {
        timer.expires_after(long_call);
        co_await timer.async_wait(asio::use_awaitable);
        core.record_running_calls(long_call);
    }
}

}  // namespace

// The cells of Firejail and of no backend have no doors.
void application::give_tools_to_code(sandbox_manager& sandboxes)
{
    if (!sandboxes.tools().offered() || !backend_.can_have_doors()) return;
    code_sources from{core_, config_, sandboxes.tools(), tools_of_upstreams(*managers_->upstreams)};
    core_.tools().give_to_code();
    code_ = std::make_unique<code_entrance>(executor_, std::move(from));
    sandboxes.network().give_tools(
        [this](const std::string& sandbox, unique_fd door) { code_->open(sandbox, std::move(door)); });
}

application::application(asio::any_io_executor executor, const settings& config, started_sandbox started,
                         const audit::writer* audit)
    : executor_(executor),
      config_(config),
      audit_(audit),
      backend_(executor, std::move(started.launcher), std::move(started.options)),
      managers_(managers_below_root(config, backend_, executor)),
      cluster_(config.cluster_etcd.empty()
                   ? nullptr
                   : std::make_unique<cluster>(
                         executor, config, told_by(*managers_, [this] { return load(); }),
                         moving(managers_->vault.get(), [this] { return cluster_->lease.is_in_touch(); }))),
      core_(executor, identity(), limits_of(config, *managers_, cluster_), managers_->background),
      ready_(config, executor, [this] { return own_problems(); }),
      administration_(parts_of_administration()),
      tasks_(executor)
{
    managers_->limits->count_calls_by([begin = limits_of(config_, *managers_, cluster_).begin_call](
                                          const std::string& principal) { return begin(principal, true); });
    metrics::all().observe(this, "cmcp_pressure",
                           "How full this server is: 0 idle, 1 full, above 1 what waits; the scarcest of runs, memory "
                           "and disk.",
                           [this] { return pressure_of(read_load(load())); });
    if (cluster_) cluster_->join(core_);
    if (cluster_ && managers_->vault)
        managers_->vault->ask_home([this](std::string principal) { return is_home(cluster_->calls, principal); });
    if (cluster_ && managers_->vault) share(*managers_->vault);
    if (cluster_)
        managers_->sandboxes->check_labels_by([this](const label_map& wanted) { cluster_->check_labels(wanted); });
    if (cluster_)
        managers_->sandboxes->before_making([this](std::string principal, std::string name) {
            return cluster_->begin_making(std::move(principal), std::move(name));
        });
    if (config.otlp_endpoint.empty()) return;
    exporter_ = std::make_unique<otlp_exporter>(otlp_target::read(config), config.otel_logs == "otlp");
}

application::~application() { metrics::all().remove(this); }

// Until this server is registered, others may have what is here.
void application::share(sandbox_vault& vault)
{
    vault.share(cluster_->owners, [this] { return cluster_->lease.is_in_touch(); });
    vault.choose_place(
        [this](const sandbox_record& of) { return cluster_->shared.loads().place_brought(needs_of(of)); });
    cluster::sandbox_listener to;
    to.owners.whole = [&vault](const std::map<std::string, sandbox_claim>& all) { vault.hear_owners(all); };
    to.owners.changed = [&vault](const std::string& handle, const sandbox_claim* owner) {
        vault.hear_owner(handle, owner);
    };
    to.lease.settle = [&vault] { return vault.settle(); };
    to.lease.hold = [&vault](bool on) { vault.hold(on); };
    cluster_->listen(std::move(to));
}

awaitable<> application::prepare()
{
    layers_ = co_await backend_.probe();
    refuse_missing_layers(layers_, config_);
    log_layers(layers_, backend_.name());
    register_tools(core_.tools(), *managers_, config_,
                   [this](const std::string& principal) { return administration_.own_usage(principal); });
    choose_tools(core_.tools(), config_);
    if (managers_->kernels) give_tools_to_code(*managers_->sandboxes);
    core_.instruct([this](const caller& who) { return instructions_for(core_.tools(), who); });
    register_resources(core_, *managers_);
    core_.on_session_end([&sandboxes = *managers_->sandboxes](const caller& who) { sandboxes.end_session(who); });
    if (auto* languages = managers_->languages.get())
        languages->on_change([this, languages] {
            if (languages->complete()) core_.tools().changed();
        });
    co_await managers_->start();
    if (cluster_) co_await cluster_->enter();
    if (cluster_) cluster_->start(tasks_);
    if (managers_->vault) tasks_.spawn("snapshots of sandboxes", managers_->vault->run());
    if (exporter_) tasks_.spawn("export of spans and logs", exporter_->run());
    tasks_.spawn("figures of the last hour", administration_.follow_trends());
    if (audit_ != nullptr) tasks_.spawn("records of calls that run", record_running_calls(core_));
}

administration::parts application::parts_of_administration()
{
    return {*managers_, core_, config_, ready_, [this] { return layers(); }, [this] { return reload_(); }, audit_};
}

std::vector<std::string> application::own_problems()
{
    std::vector<std::string> all;
    if (auto trouble = backend_.launcher_trouble()) all.push_back(std::move(*trouble));
    const auto unwritten = audit_ != nullptr && config_.audit_required ? audit_->now().trouble : std::string();
    if (!unwritten.empty())
        all.push_back("No calls are taken, because the audit cannot be written (" + unwritten +
                      "): make room there, or bring its disk back.");
    if (drains_) all.push_back("This server is about to stop: use another one.");
    if (is_drained())
        all.push_back("This server is drained (`container-mcp cluster undrain` ends it): use another one.");
    if (cluster_ && cluster_->has_moving_sandboxes() && !cluster_->lease.is_in_touch())
        all.push_back(
            "This server does not reach etcd (CLUSTER_ETCD), so its sandboxes may be at others: bring the "
            "network to etcd, or most members of etcd, back.");
    return all;
}

std::string application::balancer_line() const
{
    return command::balancer_line(pressure_of(read_load(load())), drains_ || is_drained());
}

bool application::is_drained() const { return cluster_ && cluster_->moves.drains(); }

json::object application::load() const
{
    auto row = load_of(*managers_, drains_ || is_drained());
    json::object labels;
    for (const auto& [name, value] : read_labels(config_.cluster_labels).value_or(label_map())) labels[name] = value;
    if (!labels.empty()) row["labels"] = std::move(labels);
    return row;
}

void application::reload_by(std::function<json::object()> reads) { reload_ = std::move(reads); }

void application::settings_changed()
{
    if (managers_->web) *managers_->web->policy = egress_policy::from_settings(config_);
    managers_->sandboxes->network().reload();
}

awaitable<> application::python_settles() { co_await backend_.zygote_settles(); }

awaitable<> application::say_that_it_leaves()
{
    if (cluster_) co_await cluster_->lease.say_that_it_leaves();
}

awaitable<> application::stop()
{
    co_await managers_->stop();
    if (cluster_) co_await cluster_->lease.leave();
    if (code_) co_await code_->stop();
    tasks_.cancel_all();
    co_await tasks_.wait_idle(std::chrono::seconds(1));
    if (exporter_) co_await exporter_->finish();
}

// What sandboxes have beside their tools; nothing where they are not offered.
void application::add_routes(router& routes, const route_means& by)
{
    auto& all = *managers_;
    if (all.kernels) add_file_routes(routes, *all.sandbox_files_);
    if (all.shells) add_shell_route(routes, {*all.shells, *all.sandboxes, by.logins, by.sockets});
    if (all.e2b_) e2b::add_e2b_routes(routes, *all.e2b_);
    if (all.shown) add_preview_routes(routes, *all.shown);
    add_connect_lines(routes, config_);
    if (all.jupyter_) add_jupyter_routes(routes, *all.jupyter_, by.sockets);
}

http_parts application::parts_of_http()
{
    http_parts parts;
    parts.routes = [this](router& routes, const route_means& by) { add_routes(routes, by); };
    parts.admin_routes = [this](router& routes, const admin_pages_ptr& self) {
        add_secret_routes(routes, config_, administration_);
        add_cluster_routes(routes, self, cluster_.get());
    };
    parts.end_connections = [this] {
        if (managers_->shown) managers_->shown->links().end_uses();
    };
    parts.administration = &administration_;
    parts.issuers = make_issuer_fetch(executor_, config_);
    parts.limits = managers_->limits.get();
    parts.sessions = managers_->limits->each(&principal_limits::sessions);
    parts.node = managers_->node;
    parts.sessions_file = managers_->records.path() / "sessions.sqlite";
    if (cluster_) cluster_->join(parts);
    return parts;
}

void application::set_public_url(std::string url) { managers_->sandboxes->set_public_url(std::move(url)); }

sandbox::layers application::layers() const
{
    sandbox::layers all = layers_;
    if (!all.empty()) all.back() = backend_.zygote_now();
    return all;
}

}  // namespace cmcp::command
