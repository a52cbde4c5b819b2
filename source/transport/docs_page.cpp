#include "transport/rest_routes.hpp"

#include <string_view>

namespace cmcp {

extern const std::string_view docs_page;  // docs_page.html

namespace {

// The page sets everything that comes from the server as text, never as markup.
awaitable<> serve_docs(exchange& x)
{
    http_reply reply;
    reply.content_type = "text/html; charset=utf-8";
    reply.body = docs_page;
    reply.with(
        "Content-Security-Policy",
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    reply.with("X-Content-Type-Options", "nosniff");
    reply.with("Referrer-Policy", "no-referrer");
    reply.with("Cache-Control", "no-cache");
    return x.reply(std::move(reply));
}

}  // namespace

// The page is open because it holds no secret and has a field for the token.
void add_docs_route(router& routes)
{
    routes.add({.methods = {"GET", "HEAD"}, .path = "/docs", .serve = serve_docs, .access = route_access::open});
}

}  // namespace cmcp
