#pragma once

#include "async/asio.hpp"
#include "http/bound_address.hpp"
#include "http/gateways.hpp"
#include "http/health.hpp"
#include "mcp/server_core.hpp"

#include <functional>
#include <memory>
#include <string>

namespace cmcp {

struct settings;

/// The HTTP side as a whole: listener, connections, guard, routes /mcp, /sse, /messages, REST, /healthz and /livez.
class http_server {
public:
    /// `layers` fills the verbose part of /healthz.
    /// Gateways: for /sandbox/file, /sandbox/shell, ports of sandboxes and /api; null: there is no such route. `ready`:
    /// what /healthz asks. All must outlive the server. Where `address` is secure, the server speaks TLS by `config`;
    /// throws certificate_problem.
    http_server(asio::io_context& io, const settings& config, bound_address address, server_core& core,
                std::function<json::value()> layers, gateways to = {}, readiness_check ready = {});

    /// Listens at this UNIX socket, too. Whoever comes in there is an administrator, and finds /admin, /healthz and
    /// /metrics alone. Before start().
    void administer_at(asio::io_context& io, bound_address socket);

    /// Listens at this address for the other servers of the cluster. Before start(). Throws certificate_problem.
    void admit_members_at(asio::io_context& io, bound_address place);
    ~http_server();

    const bound_address& address() const;

    void start();  ///< accepts from now on

    void reload_certificate();  ///< where the server speaks TLS; the former one stays where the new one is bad
    void tokens_changed();      ///< MCP_AUTH_TOKENS of the settings

    /// Stops accepting, refuses new requests, lets running ones end for at most drain_timeout, ends the streams
    /// properly.
    awaitable<> stop();

private:
    struct implementation;
    std::shared_ptr<implementation> self_;  // open connections keep it alive as well
};

}  // namespace cmcp
