#pragma once

#include "async/asio.hpp"
#include "config/principal_limits.hpp"
#include "http/bound_address.hpp"
#include "http/health.hpp"
#include "identity/document_fetch.hpp"
#include "identity/shared_logins.hpp"
#include "mcp/server_core.hpp"
#include "rest/admin_routes.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace cmcp {

class member_gateway;
class quotas;
class websocket_register;
struct settings;

/// What routes of other districts have of the HTTP side.
struct route_means {
    const request_guard& logins;
    websocket_register& sockets;
};

/// The parts of the program that the HTTP side reaches, which all must outlive it, and the routes of other districts.
struct http_parts {
    std::function<void(router& routes, const route_means& by)> routes{};              ///< for clients
    std::function<void(router& routes, const admin_pages_ptr& self)> admin_routes{};  ///< below /admin
    std::function<void(router& routes)> member_routes{};                              ///< for members alone
    std::function<void()> end_connections{};                                          ///< those of `routes`
    admin_gateway* administration = nullptr;                                          ///< null: there is no /admin
    document_fetch issuers{};                                                         ///< reaches authorization servers
    member_gateway* members = nullptr;                                                ///< null: this server is alone
    quotas* limits = nullptr;               ///< count what changes something as calls; null: nothing counts
    limit_of_principal sessions{};          ///< that a caller with a name may have; null: the settings' number
    std::string node = "node";              ///< this machine's name in ids of sessions
    std::filesystem::path sessions_file{};  ///< keeps sessions for the next process; empty: they end with this one
    shared_logins logins{};                 ///< empty functions: this server knows its own credentials alone
};

/// The HTTP side as a whole: listener, connections, guard, routes /mcp, /sse, /messages, REST, /healthz and /livez.
class http_server {
public:
    /// `layers` fills the verbose part of /healthz.
    /// `ready`: what /healthz asks. Where `address` is secure, the server speaks TLS by `config`; throws
    /// certificate_problem.
    http_server(asio::io_context& io, const settings& config, bound_address address, server_core& core,
                std::function<json::value()> layers, http_parts parts = {}, readiness_check ready = {});

    /// Listens at this UNIX socket, too. Whoever comes in there is an administrator, and finds /admin, /healthz and
    /// /metrics, and for the commands of the program the tools, files and shells of each principal. Before start().
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
