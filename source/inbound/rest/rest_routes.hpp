#pragma once

#include "http/request_guard.hpp"
#include "http/router.hpp"
#include "identity/document_fetch.hpp"
#include "mcp/server_core.hpp"

namespace cmcp {

class admin_gateway;
class browser_logins;
class member_gateway;
struct server_settings;
struct settings;

// Each REST route of this district is a file with such a function, and a line in http_server.cpp. References must
// outlive the routes.

/// POST /mcp/tools/<tool>: a JSON object of arguments in, the result object out. With `Accept: text/event-stream` what
/// the tool prints comes while it runs (rest_sink.hpp), then `event: result` with the result object. A bad argument or
/// a refusal is 4xx with {error, error_type}. Closing the connection cancels the call.
void add_tool_routes(router& routes, server_core& core, const settings& config);

/// POST /admin/acts: an act of administration by a command of the program, {method, concerns, by}, goes into the audit.
/// Before the routes of /admin, whose last one takes what is left.
void add_act_route(router& routes);

/// POST /admin/copies/<sandbox>: for `container-mcp backup`, which reads and removes the copy. The server's own socket
/// alone has this route, because the answer names a folder of the machine.
void add_copy_route(router& routes, admin_gateway& server);

/// /admin/keys and /admin/quotas, for administrators. Before add_admin_routes(), which takes the rest of /admin.
void add_key_routes(router& routes, const server_settings& config);

/// /ui and below: one page that shows what /admin says. It needs the routes of add_docs_route(), too, with which it
/// shares a file.
struct ui_sources {
    const settings& config;
    request_guard& logins;
    browser_logins& browsers;
    document_fetch issuers;             ///< reaches them
    bool admits_nameless = false;       ///< as admin_pages
    member_gateway* members = nullptr;  ///< null: this server is alone
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
