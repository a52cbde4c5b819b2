#pragma once

#include "administration/admin_gateway.hpp"
#include "app/managers.hpp"
#include "app/readiness.hpp"
#include "app/trend_samples.hpp"
#include "audit/writer.hpp"
#include "mcp/server_core.hpp"
#include "probe/layer.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>

namespace cmcp {

struct settings;

/// The administration of a server: it reads the objects that run calls, jobs, kernels and shells. Io thread only.
class administration final : public admin_gateway {
public:
    struct parts {
        managers& all;
        server_core& core;
        const settings& config;
        readiness& ready;
        std::function<sandbox::layers()> layers;
        std::function<json::object()> reload;  ///< {"changed", "needs_restart"}; empty: nothing can be read again
        const audit::writer* audit = nullptr;  ///< null: there is no audit
    };

    /// All must outlive this.
    explicit administration(parts of);

    awaitable<json::object> runs(admin_viewer by) override;
    awaitable<json::object> sandboxes(admin_viewer by, admin_page part) override;
    json::object jobs(const admin_viewer& by) override;
    awaitable<json::object> usage(admin_viewer by, admin_connections known) override;
    json::object own_usage(const std::string& principal);  ///< the row of usage(), without its sessions
    json::object ends(const admin_viewer& by) override;
    json::object egress(const admin_viewer& by) override;
    json::object calls(const admin_viewer& by, const std::string& sandbox) override;
    json::object trends(const admin_viewer& by) override;
    awaitable<> follow_trends();  ///< keeps the figures of the last hour until it is cancelled
    awaitable<json::object> layers(admin_viewer by) override;
    json::object pull_image(const std::string& name) override;
    awaitable<json::object> health() override;
    json::object audit(const admin_viewer& by, std::size_t most, std::string_view kind) override;
    awaitable<> update_figures(admin_connections known) override;
    awaitable<bool> end_run(admin_viewer by, std::string id) override;
    awaitable<bool> delete_sandbox(admin_viewer by, std::string id) override;
    bool cancel_job(const admin_viewer& by, const std::string& id) override;
    awaitable<json::object> copy_sandbox(std::string id) override;
    list_positions now() const override;
    admin_news since(const admin_viewer& by, list_positions& place) override;
    json::object reload() override;

private:
    using cells = std::map<std::string, sandbox::cell_state>;  // by sandbox

    awaitable<cells> live_cells();
    std::string sandbox_id(const std::string& owner, const std::string& id_or_name);
    void add_calls(json::array& rows, const admin_viewer& by, const cells& live);
    void add_jobs(json::array& rows, const admin_viewer& by, const cells& live);
    void add_kernels(json::array& rows, const admin_viewer& by, const cells& live);
    void add_shells(json::array& rows, const admin_viewer& by, const cells& live);
    bool end_call(const admin_viewer& by, const std::string& id);
    awaitable<bool> end_kernel(admin_viewer by, std::string id);
    bool end_shell(const admin_viewer& by, const std::string& id);
    awaitable<bool> end_command_shell(admin_viewer by, std::string id);
    std::map<std::string, json::object> rows_of_usage(const admin_viewer& by, const admin_connections& known);
    json::object machine(const admin_connections& known, const cells& live);
    static std::uint64_t memory_of(const cells& live);
    json::object limits_of(const std::string& principal);
    void add_limits(json::object& row);
    void set_sandbox_figures();
    void set_job_figures();
    void set_principal_figures(const admin_connections& known);
    std::string label_of(const std::string& principal);

    parts of_;
    trend_samples trends_;
    std::set<std::string> labels_;  // of principals, in figures
};

}  // namespace cmcp
