#pragma once

#include "http/exchange.hpp"
#include "jsonrpc/json.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// The clients that may use a route.
enum class route_access {
    caller,  ///< a known principal, where callers have names
    open,    ///< anybody, because the page holds no secret
    probe,   ///< anybody whose request has no query; in HTTP/1.0 even without a Host
};

/// Which body a route takes with POST.
enum class route_body {
    none,
    json,           ///< application/json of at most HTTP_MAX_BODY_MB
    optional_json,  ///< the same, or nothing
    any,            ///< any type, at most HTTP_MAX_BODY_MB
    streamed,       ///< any type and any size; the route reads http_request::stream
};

/// A path and method as /openapi.json describes them.
struct route_operation {
    std::string path;
    std::string id;
    std::string summary;
    std::string description;  ///< may be empty
    std::string tag;
    json::array parameters;     ///< of the query
    json::object takes;         ///< schema of the body by media type
    json::object example;       ///< of a body of application/json; empty: there is none
    json::object gives;         ///< schema of the answer 200 by media type
    std::string gives_what;     ///< a few words
    bool body_required = true;  ///< where `takes` has any
};

/// Which requests of a route are in the audit.
enum class route_audit {
    none,     ///< none, or what serves them records them
    calls,    ///< all, as calls
    changes,  ///< those that are no GET and no HEAD, as acts of administration
};

/// Which requests of a route count as calls of their caller (quota `calls`).
enum class route_counts {
    none,     ///< none, or what serves them counts
    changes,  ///< those that are no GET and no HEAD
    all,
};

/// An entry of the route table. The request guard, the reader of bodies and /openapi.json go by it.
struct route {
    using handler = std::function<awaitable<>(exchange&)>;

    std::vector<std::string_view> methods;  ///< none: any
    std::string path;                       ///< "/*" at its end means everything below
    handler serve;
    route_access access = route_access::caller;
    scope_set needs = {};  ///< of the caller; empty: any caller, or the handler decides
    route_body body = route_body::none;
    bool takes_long_json = false;  ///< takes JSON of more than 64 KiB, which is read on the pool
    /// Requests that are this route's whatever their path and method, as those of a Host.
    std::function<bool(const http_request&)> claims = {};
    route_audit audit = route_audit::none;
    route_counts counts = route_counts::none;
    /// The handle of what the request is about; empty: none. Its node answers, where that is another server's.
    std::function<std::string(const http_request&)> handle = {};
    /// A POST that changes nothing: another server may be asked twice. Empty: none.
    std::function<bool(const http_request&)> only_reads = {};
    bool relays = false;  ///< its requests are another program's: Origin, preflights and codings are the route's matter
    bool signed_links = false;  ///< read by a link's signature in place of a token (signed_link.hpp)
    bool jupyter = false;       ///< of Jupyter's API: a token may come in its ways, refusals have its form
    bool e2b = false;           ///< of E2B's API: a key may come in x-api-key, refusals have its form
    bool html_only = false;     ///< only for requests whose Accept names text/html
    bool by_strangers = false;  ///< answers who brings no credentials at all, too; http_request::who is null then
    bool by_browser = false;    ///< takes the cookie of a login at /ui (browser_logins)
    bool rpc_errors = false;    ///< refusals at this path have the form that clients of MCP read
    std::function<std::vector<route_operation>(const http_request&)> operations = {};  ///< empty: not in /openapi.json

    /// A slash at the end of `wanted` makes no difference.
    bool fits(std::string_view wanted) const;
};

}  // namespace cmcp
