#pragma once

#include "administration/admin_events.hpp"
#include "administration/admin_nodes.hpp"
#include "http/admin_gateway.hpp"
#include "http/authenticator.hpp"
#include "http/cluster_gateway.hpp"
#include "http/code_gateway.hpp"
#include "http/file_gateway.hpp"
#include "http/jupyter_gateway.hpp"
#include "http/preview_gateway.hpp"
#include "http/router.hpp"
#include "http/shell_gateway.hpp"
#include "http/websocket.hpp"
#include "identity/document_fetch.hpp"
#include "mcp/code_tools.hpp"
#include "mcp/server_core.hpp"
#include "transport/session_store.hpp"

#include <cstddef>

namespace cmcp {

struct http_settings;
struct server_settings;
struct settings;

// Each REST route is a file with such a function, and a line in http_server.cpp. References must outlive the routes.

/// POST /mcp/tools/<tool>: a JSON object of arguments in, the result object out. With `Accept: text/event-stream` what
/// the tool prints comes while it runs (rest_sink.hpp), then `event: result` with the result object. A bad argument or
/// a refusal is 4xx with {error, error_type}. Closing the connection cancels the call.
void add_tool_routes(router& routes, server_core& core, const settings& config);

/// For the doors of sandboxes alone. GET /tools?search=<words>&limit=<n>: {"tools": […]}, those that programs of
/// sandboxes may call (SANDBOX_TOOLS). POST /tools/<tool>: as POST /mcp/tools/<tool>, until the run has made all its
/// calls; <server>.<tool> is one of another server.
struct code_sources {
    server_core& core;
    const settings& config;
    code_gateway& rights;
    other_tools others;
};
void add_code_routes(router& routes, code_sources from);

/// GET, HEAD and POST /sandbox/file: files of sandboxes, streamed both ways; parts of a file by Range. The sandbox is
/// named by sandbox_id or sandbox_name, the file by file_path, in the query; a form may name them in fields before its
/// file.
void add_file_routes(router& routes, file_gateway& files);

/// /preview/<token>/… and every path of the Hosts beneath MCP_PREVIEW_DOMAIN, with any method: ports of sandboxes.
void add_preview_routes(router& routes, preview_gateway& shown);

/// GET /sandbox/shell?sandbox_id=…&cols=&rows=: a WebSocket on a shell in a sandbox. Binary messages are what is typed
/// and shown; text messages are orders in JSON (resize, signal). A page that names the protocol cmcp.shell hears as a
/// message {"error"} why it gets no shell, because a browser keeps refusals to itself.
void add_shell_route(router& routes, shell_gateway& shells, const authenticator& logins, websocket_register& sockets);

/// /api and below: the REST and WebSocket API of a Jupyter server. It is described by Jupyter, not in /openapi.json.
void add_jupyter_routes(router& routes, jupyter_gateway& kernels, websocket_register& sockets);

/// /admin and below: what runs, and its end. An administrator sees and ends everything, others what belongs to them.
/// GET /admin/events is a stream of server-sent events. With `node=` administrators ask for other servers of the
/// cluster, or for all.
struct admin_sources {
    admin_gateway& server;
    const authenticator* logins;  ///< judge again while a stream lasts; null: nobody has to log in
    session_store& sessions;
    admin_streams& streams;
    std::function<std::size_t()> connections;
    bool admits_nameless = false;  ///< whether a caller without a name is an administrator, where its scopes say so
    admin_nodes nodes{};
    cluster_gateway* cluster = nullptr;  ///< null: this server is alone
};
admin_connections connections_of(const admin_sources& from);
void add_admin_routes(router& routes, const http_settings& config, admin_sources sources);

/// POST /admin/acts: an act of administration by a command of the program, {method, concerns, by}, goes into the audit.
/// Before the routes of /admin, whose last one takes what is left.
void add_act_route(router& routes);

/// POST /admin/copies/<sandbox>: for `container-mcp backup`, which reads and removes the copy. The server's own socket
/// alone has this route, because the answer names a folder of the machine.
void add_copy_route(router& routes, admin_gateway& server);

/// POST /member/beat, /member/vote?about=<member> and /member/take?sandbox=<handle>, for the members' port alone:
/// {"yes": true} or false. The name of the member that asks is that of its certificate.
void add_member_routes(router& routes, cluster_gateway& all);

/// /admin/keys and /admin/quotas, for administrators. Before add_admin_routes(), which takes the rest of /admin.
void add_key_routes(router& routes, const server_settings& config);

/// /ui and below: one page that shows what /admin says. It needs the routes of add_docs_route(), too, with which it
/// shares a file.
struct ui_sources {
    const settings& config;
    authenticator& logins;
    browser_logins& browsers;
    document_fetch issuers;        ///< reaches them
    bool admits_nameless = false;  ///< as admin_sources
};
void add_ui_routes(router& routes, ui_sources from);

/// /ui/login, /ui/logout, /ui/issuers, /ui/oauth and /ui/callback: the logins of browsers for that page.
void add_login_routes(router& routes, const ui_sources& from);

/// GET and HEAD /.well-known/oauth-protected-resource, also with /mcp and /sse behind it: the authorization servers and
/// scopes of this server (RFC 9728).
void add_metadata_routes(router& routes, const settings& config);

/// GET and HEAD /openapi.json: an OpenAPI 3.1 document of the operations of all routes, with the tools of the caller's
/// profile.
void add_openapi_route(router& routes, const tool_registry& tools);
json::object openapi_document(const router& routes, const http_request& asked_by);

/// GET and HEAD /docs, with its files: one page that lists, explains and tries every tool by what /openapi.json says,
/// and shows output as it comes. The page asks nothing of any other host.
void add_docs_route(router& routes);

}  // namespace cmcp
