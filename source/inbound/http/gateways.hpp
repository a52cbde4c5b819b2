#pragma once

#include "config/principal_limits.hpp"
#include "http/admin_gateway.hpp"
#include "http/cluster_gateway.hpp"
#include "http/file_gateway.hpp"
#include "http/jupyter_gateway.hpp"
#include "http/member_gateway.hpp"
#include "http/preview_gateway.hpp"
#include "http/shell_gateway.hpp"
#include "identity/document_fetch.hpp"
#include "identity/shared_logins.hpp"

#include <filesystem>
#include <functional>
#include <string>

namespace cmcp {

class quotas;
class router;

/// The ways of the HTTP side to what lies in sandboxes and outside.
struct gateways {
    file_gateway* files = nullptr;
    shell_gateway* shells = nullptr;
    preview_gateway* previews = nullptr;
    jupyter_gateway* jupyter = nullptr;
    admin_gateway* administration = nullptr;
    std::function<void(router&)> admin_routes = {};  ///< adds those that other districts have below /admin
    document_fetch issuers = {};                     ///< reaches authorization servers
    member_gateway* members = nullptr;               ///< null: this server is alone
    quotas* limits = nullptr;                        ///< count what changes something as calls; null: nothing counts
    limit_of_principal sessions = {};                ///< that a caller with a name may have; null: the settings' number
    std::string node = "node";                       ///< this machine's name in ids of sessions
    std::filesystem::path sessions_file = {};  ///< keeps sessions for the next process; empty: they end with this one
    shared_logins logins = {};                 ///< empty functions: this server knows its own credentials alone
    cluster_gateway* cluster = nullptr;        ///< null: this server is alone
};

}  // namespace cmcp
