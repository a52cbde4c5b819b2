#include "transport/page_files.hpp"

#include "text/encodings.hpp"

#include <string>

namespace cmcp {

namespace {

constexpr std::size_t tag_digits = 16;

// Programs and pages of others have other origins, so 'self' is these files and the routes that they use.
constexpr const char* policy =
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri "
    "'none'; form-action 'none'; frame-ancestors 'none'";

// "/ui/" would make other addresses of the relative ones.
http_reply without_slash(std::string_view path)
{
    http_reply reply;
    reply.status = 308;
    reply.with("Location", "../" + std::string(path.substr(path.rfind('/') + 1)));
    return reply;
}

// The entity tag is the digest, so that a browser asks again and hears that nothing has changed.
awaitable<> serve_page_file(exchange& x, const page_file& file, const std::string& tag)
{
    if (x.request().path.ends_with('/')) return x.reply(without_slash(file.path));
    http_reply reply;
    if (x.request().header("if-none-match").value_or("") == tag) {
        reply.status = 304;
    } else {
        reply.content_type = file.type;
        reply.body = file.text;
    }
    reply.with("ETag", tag);
    reply.with("Cache-Control", "no-cache");
    protect_page(reply);
    return x.reply(std::move(reply));
}

}  // namespace

// No Cross-Origin-Opener-Policy: a browser would begin another process before it paints.
http_reply& protect_page(http_reply& reply)
{
    return reply.with("Content-Security-Policy", policy)
        .with("X-Content-Type-Options", "nosniff")
        .with("Referrer-Policy", "no-referrer")
        .with("Cross-Origin-Resource-Policy", "same-origin");
}

void add_page_files(router& routes, std::span<const page_file> files)
{
    for (const auto& file : files)
        routes.add({.methods = {"GET", "HEAD"},
                    .path = file.path,
                    .serve = [&file, tag = '"' + sha256_hex(file.text).substr(0, tag_digits) +
                                           '"'](exchange& x) { return serve_page_file(x, file, tag); },
                    .access = route_access::open});
}

}  // namespace cmcp
