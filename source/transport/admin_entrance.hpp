#pragma once

#include "async/memory_budget.hpp"
#include "async/task_group.hpp"
#include "config/settings.hpp"
#include "http/authenticator.hpp"
#include "http/connection.hpp"
#include "http/listener.hpp"
#include "http/request_guard.hpp"
#include "http/router.hpp"

#include <memory>

namespace cmcp {

/// The way in for whoever may open the server's own socket in SANDBOX_ROOT: a route table of its own, without tokens,
/// TLS and proxies. The socket's file goes with stop().
struct admin_entrance {
    admin_entrance(asio::io_context& io, bound_address socket, const settings& of_server, gatekeeper& logins,
                   std::shared_ptr<memory_budget> memory);
    ~admin_entrance();

    void stop();

    settings config;
    authenticator by_socket;
    request_guard guard;
    router routes;
    listener listens;
    connection_context context;
    task_group connections;

private:
    bool stopped_ = false;
};

}  // namespace cmcp
