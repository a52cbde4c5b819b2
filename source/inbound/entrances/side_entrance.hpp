#pragma once

#include "async/memory_budget.hpp"
#include "async/task_group.hpp"
#include "config/settings.hpp"
#include "http/connection.hpp"
#include "http/listener.hpp"
#include "http/request_guard.hpp"
#include "http/router.hpp"
#include "http/tls_entrance.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// The callers that come in beside the server's main address, and how.
struct entrance_rules {
    settings config;               ///< of the server, as it counts here
    request_guard::way_in by_way;  ///< the login of a request, which needs no credentials
    bool of_members = false;       ///< the owners of certificates say for whom they ask
};

/// On whose behalf an administrator asks at that socket; without it nobody's, who is the default caller.
inline constexpr std::string_view field_of_principal = "container-mcp-principal";

/// For whoever may open the server's own socket in SANDBOX_ROOT: administrators, without tokens, TLS and proxies.
entrance_rules rules_for_administrators(const settings& config);

/// The settings as they count for the other servers of the cluster: CLUSTER_CERT and so on in place of TLS_CERT.
settings settings_for_members(const settings& config);

/// For the other servers of the cluster, by certificates of CLUSTER_CA.
entrance_rules rules_for_members(const settings& config);

/// A further way into the server. The file of its UNIX socket goes with stop().
struct side_entrance {
    /// Throws certificate_problem.
    side_entrance(asio::io_context& io, bound_address place, entrance_rules by, gatekeeper& logins,
                  std::shared_ptr<memory_budget> memory);
    ~side_entrance();

    /// Nothing is answered any more. The connections of other servers stay: each request on one is told so, and they
    /// end when those servers have heard that this one ends.
    void stop();

    entrance_rules rules;
    request_guard guard;
    router routes;  ///< empty at first
    listener listens;
    std::optional<tls_entrance> tls;
    connection_context context;
    task_group connections;

private:
    bool stopped_ = false;
};

}  // namespace cmcp
