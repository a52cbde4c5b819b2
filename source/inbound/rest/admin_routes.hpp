#pragma once

#include "administration/admin_events.hpp"
#include "administration/admin_gateway.hpp"
#include "administration/admin_nodes.hpp"
#include "http/request_guard.hpp"
#include "http/router.hpp"
#include "transport/session_store.hpp"

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string_view>

namespace cmcp {

struct http_settings;

/// The means of the routes below /admin. References must outlive the routes.
struct admin_pages {
    const http_settings& config;
    admin_gateway& server;
    const request_guard* logins;  ///< judge again while a stream lasts; null: nobody has to log in
    session_store& sessions;
    admin_streams& streams;
    std::function<std::size_t()> connections;
    bool admits_nameless = false;  ///< whether a caller without a name is an administrator, where its scopes say so
    admin_nodes nodes{};
};
using admin_pages_ptr = std::shared_ptr<admin_pages>;

admin_connections connections_of(const admin_pages& self);
admin_viewer viewer_of(const http_request& request, const admin_pages& self);
admin_page page_of(const http_request& request);  ///< throws http_refusal

/// A column of a list, for whoever draws it. docs/rest.md has the kinds.
struct admin_column {
    std::string_view name;  ///< the member of the rows
    std::string_view kind;
    std::string_view title;
    std::string_view of = "";  ///< a second member, of some kinds
};

/// The columns of a list as its answer has them, in `columns`.
json::array columns_of(std::initializer_list<admin_column> all);

/// An entry below /admin, of this district or of one above it.
struct admin_route {
    /// Of this server, for the caller of the request, which outlives the call. Throws http_refusal.
    using reader = std::function<awaitable<json::object>(const http_request& request, admin_pages_ptr self)>;
    using handler = std::function<awaitable<>(exchange& x, admin_pages_ptr self)>;

    const char* method;
    const char* path;  ///< "/*" at its end: an id
    reader read;       ///< of a list, which may be of several servers; else empty
    handler serve;     ///< of changes, which may be for another server, and of streams
    scope_set needs;   ///< mcp:admin: of an administrator, not only of a caller without a name who has the scope
    const char* id;    ///< for /openapi.json, with `summary`
    const char* summary;
    const char* member;           ///< of the answer: of a list its rows; empty: it is a stream
    const char* order = "";       ///< as row_order::by, where rows come from several servers
    json::array parameters = {};  ///< as those of route_operation, beside the path's and `node`
    json::object columns = {};    ///< of each list in the answer, by its member
};

json::object query_parameter_of(std::string_view name, std::string_view description, std::string_view type);

void add_admin_route(router& routes, admin_pages_ptr self, admin_route added);

/// /admin and below: what runs, and its end. An administrator sees and ends everything, others what belongs to them.
/// GET /admin/events is a stream of server-sent events. With `node=` administrators ask for other servers of the
/// cluster, or for all. Its last route takes what is left below /admin.
void add_admin_routes(router& routes, const admin_pages_ptr& self);

}  // namespace cmcp
