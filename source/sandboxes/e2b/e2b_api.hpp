#pragma once

#include "e2b/daemons.hpp"
#include "e2b/interpreter.hpp"
#include "e2b/sandbox_maker.hpp"
#include "e2b/templates.hpp"
#include "e2b/terms.hpp"
#include "http/exchange.hpp"
#include "kernels/kernel_manager.hpp"
#include "preview/previews.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {
class router;
struct sandbox_settings;
}  // namespace cmcp

namespace cmcp::e2b {

/// E2B's wire over sandboxes: its control plane, and its data plane at the Hosts of ports, or at any Host by the fields
/// e2b-sandbox-id and e2b-sandbox-port. A sandbox has a lease, after which it is deleted or paused. Everything given to
/// the constructor must outlive this. Io thread only.
class e2b_api {
public:
    struct parts {
        const sandbox_settings& config;
        asio::any_io_executor executor;
        sandbox::backend& cells;
        sandbox_runner& runs;
        kernel_manager& kernels;
        previews& ports;
        sandbox_files& files;
        std::uint64_t memory;  ///< that a sandbox may take, bytes
    };
    explicit e2b_api(parts of);

    awaitable<> stop();

    /// A request of the control plane.
    awaitable<> serve(exchange& x);

    /// Whether the request is for a port of a sandbox.
    bool has_data_request(const http_request& request) const;
    awaitable<> serve_data(exchange& x);
    awaitable<> take_files(exchange& x) { return templates_.take_files(x); }  ///< of a build

    /// The handle of the sandbox that a request of either plane is about; empty: none.
    std::string subject_of(const http_request& request) const;

private:
    struct call;
    struct place;  // a port of a sandbox
    struct subject {
        sandbox_record where;
        terms of;
    };

    sandbox_manager& sandboxes() const { return of_.runs.sandboxes(); }
    awaitable<http_reply> answer(call from);
    awaitable<http_reply> answer_refusals(call from);
    awaitable<http_reply> about_sandbox(call from);
    awaitable<http_reply> make(call from);
    awaitable<http_reply> list(call from);
    awaitable<http_reply> connect(call from, subject at);
    awaitable<http_reply> fork(call from, subject at);
    awaitable<http_reply> snapshot(call from, subject at);
    awaitable<http_reply> metrics(subject at);
    awaitable<http_reply> set_network(call from, subject at);
    awaitable<http_reply> snapshots(call from);
    http_reply about_alias(const caller& who, const std::string& name);
    awaitable<http_reply> remove_snapshot(call from, std::string name);
    awaitable<sandbox_record> make_record(caller who, terms& as, const json::object& wish);
    subject find(const caller& who, const std::string& id);
    std::vector<subject> all_of(const caller& who);
    std::optional<subject> find_snapshot(const caller& who, std::string_view name);
    void keep(const sandbox_record& where, const terms& of);
    void lease(sandbox_record& where, double ends, double length, bool deletes);
    json::object row_of_new(const subject& at) const;
    json::object described(const subject& at) const;
    json::object metric(const subject& at, const sandbox::cell_state& live);

    std::optional<place> place_of(const http_request& request) const;
    awaitable<http_reply> serve_place(exchange& x, place at);
    std::optional<http_reply> refuse_stranger(const http_request& request, const place& at, const terms& of) const;
    awaitable<http_reply> pass(exchange& x, place at, subject to);

    parts of_;
    daemons daemons_;
    interpreter code_;
    sandbox_maker maker_;
    templates templates_;
    struct reading {
        std::chrono::microseconds cpu{0};
        double at = 0;
    };
    std::map<std::string, reading> readings_;
};

/// Both planes. It must outlive the routes.
void add_e2b_routes(router& routes, e2b_api& api);

}  // namespace cmcp::e2b
