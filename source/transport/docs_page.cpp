#include "transport/docs_page.hpp"

#include <string_view>

namespace cmcp {

extern const std::string_view docs_page;  // docs_page.html

// Everything that comes from the server is set as text, never as markup.
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
    co_await x.reply(std::move(reply));
}

}  // namespace cmcp
