#pragma once

#include "app/administration.hpp"
#include "app/managers.hpp"
#include "app/readiness.hpp"
#include "async/task_group.hpp"
#include "cluster/cluster.hpp"
#include "entrances/http_server.hpp"
#include "mcp/server_core.hpp"
#include "sandboxes/code_entrance.hpp"
#include "server/sandbox_start.hpp"
#include "telemetry/otlp_exporter.hpp"

#include <memory>
#include <string>

namespace cmcp {
struct settings;
}  // namespace cmcp

namespace cmcp::command {

/// Everything behind the transports: sandbox, managers, tools and the protocol. Lives in the main coroutine, so that
/// the io_context runs out of work when that ends.
class application {
public:
    /// `config` must outlive this, and `audit`, which is null where there is none.
    application(asio::any_io_executor executor, const settings& config, started_sandbox started,
                const audit::writer* audit);
    application(const application&) = delete;
    application& operator=(const application&) = delete;
    ~application();

    /// Probes the sandbox and offers the tools; throws config_error when a required layer is missing.
    awaitable<> prepare();

    awaitable<> say_that_it_leaves();  ///< to the other servers of the cluster, before requests are refused

    /// Ends background work (jobs, the care for sandboxes); to be awaited before the destruction.
    awaitable<> stop();

    awaitable<> python_settles();  ///< until the loaded interpreter runs, or has failed

    server_core& core() { return core_; }
    sandbox::layers layers() const;  ///< the loaded interpreter's as of now, the others as of the start
    http_parts parts_of_http();
    readiness& ready() { return ready_; }
    void reload_by(std::function<json::object()> reads);  ///< for POST /admin/reload
    void drain() { drains_ = true; }                      ///< says that this server ends, and goes on until stop()
    std::string balancer_line() const;                    ///< for agent checks
    void settings_changed();                              ///< those that may change while the server runs
    void set_public_url(std::string url);                 ///< for links to files

private:
    administration::parts parts_of_administration();
    std::vector<std::string> own_problems();
    void give_tools_to_code(sandbox_manager& sandboxes);
    void add_routes(router& routes, const route_means& by);
    void share(sandbox_vault& vault);
    bool is_drained() const;    // by an administrator
    json::object load() const;  // as others see it

    asio::any_io_executor executor_;
    const settings& config_;
    const audit::writer* audit_;
    sandbox::native_backend backend_;
    std::unique_ptr<managers> managers_;
    std::unique_ptr<cluster> cluster_;  ///< null: this server is alone
    server_core core_;
    std::unique_ptr<code_entrance> code_;  ///< null: code calls no tools
    readiness ready_;
    bool drains_ = false;
    std::function<json::object()> reload_;
    administration administration_;
    std::unique_ptr<otlp_exporter> exporter_;  ///< null: no collector
    task_group tasks_;
    sandbox::layers layers_;
};

}  // namespace cmcp::command
