#include "pages/page_files.hpp"

#include "text/ascii.hpp"
#include "text/encodings.hpp"
#include "text/words.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include <zlib.h>

namespace cmcp {

namespace {

// The text in the format of RFC 1952. For texts of this server alone: a length tells about what is compressed
// together.
std::string gzipped(std::string_view text)
{
    constexpr int window = 15, with_header = 16, memory = 8;
    z_stream stream{};
    if (::deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, window + with_header, memory, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        throw std::runtime_error("zlib cannot compress");
    const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, ::deflateEnd);
    std::string out(::deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    if (::deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("zlib cannot compress");
    out.resize(stream.total_out);
    return out;
}

constexpr std::size_t tag_digits = 16;

/// A file as it is sent.
struct sent_file {
    std::string path;
    std::string own_text;   // of an HTML one
    std::string_view text;  // of others
    std::string_view type;
    std::string policy;
    const char* kept;  // Cache-Control
    std::string tag{};
    std::string zipped{};  // made for the first browser that takes it

    std::string_view whole() const { return own_text.empty() ? text : std::string_view(own_text); }
};

// The entity tag is the digest, so that a browser asks again and hears that nothing has changed.
constexpr const char* asked_again = "no-cache";
constexpr const char* kept_for_good = "public, max-age=31536000, immutable";

// Programs and pages of others have other origins, so 'self' is these files and the routes that they use.
std::string policy_for(std::string_view style, const std::string& frames = "'none'")
{
    const std::string styles = style.empty() ? "'self'" : "'sha256-" + base64_encode(sha256(style)) + "'";
    return "default-src 'none'; style-src " + styles +
           "; script-src 'self'; connect-src 'self'; img-src 'self' data:; media-src 'self'; frame-src " + frames +
           "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
}

// "/ui/" would make other addresses of the relative ones.
http_reply without_slash(std::string_view path)
{
    http_reply reply;
    reply.status = 308;
    reply.with("Location", "../" + std::string(path.substr(path.rfind('/') + 1)));
    return reply;
}

// No Cross-Origin-Opener-Policy: a browser would begin another process before it paints.
http_reply& protect(http_reply& reply, std::string policy)
{
    return reply.with("Content-Security-Policy", std::move(policy))
        .with("X-Content-Type-Options", "nosniff")
        .with("Referrer-Policy", "no-referrer")
        .with("Cross-Origin-Resource-Policy", "same-origin");
}

bool takes_gzip(const http_request& request)
{
    const auto codings = request.header("accept-encoding").value_or("");
    for (const auto each : split(codings, ','))
        if (trimmed(each) == "gzip") return true;
    return false;
}

void fill(http_reply& reply, sent_file& file, bool zips)
{
    reply.content_type = std::string(file.type);
    if (zips && file.zipped.empty()) file.zipped = gzipped(file.whole());
    reply.body = zips ? std::string_view(file.zipped) : file.whole();
    if (zips) reply.with("Content-Encoding", "gzip");
}

awaitable<> serve_page_file(exchange& x, sent_file& file)
{
    if (x.request().path.ends_with('/')) return x.reply(without_slash(file.path));
    http_reply reply;
    const bool zips = takes_gzip(x.request());
    const auto tag = '"' + file.tag + (zips ? "-gzip\"" : "\"");
    if (x.request().header("if-none-match").value_or("") == tag)
        reply.status = 304;
    else
        fill(reply, file, zips);
    reply.with("ETag", tag);
    reply.with("Cache-Control", file.kept);
    reply.with("Vary", "Accept-Encoding");
    protect(reply, file.policy);
    return x.reply(std::move(reply));
}

std::string tag_of(std::string_view text) { return sha256_hex(text).substr(0, tag_digits); }

std::string tag_of_all(std::span<const page_file> files)
{
    std::string all;
    for (const auto& file : files) all.append(file.text);
    return tag_of(all);
}

void replace_all(std::string& text, std::string_view what, std::string_view with)
{
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
        text.replace(at, what.size(), with);
}

// The text of an HTML one; empty: it goes as it is.
std::string text_with_style(const page_file& file, std::string_view folder, const std::string& tag)
{
    if (file.type != std::string_view(html_type)) return {};
    std::string text(file.text);
    const auto named = '"' + std::string(folder);
    if (!folder.empty()) replace_all(text, named, named + tag + '/');
    replace_all(text, "<style></style>", "<style>" + std::string(file.style) + "</style>");
    return text;
}

void add_file(router& routes, sent_file file)
{
    file.tag = tag_of(file.whole());
    const auto path = file.path;
    routes.add({.methods = {"GET", "HEAD"},
                .path = path,
                .serve = [kept = std::make_shared<sent_file>(std::move(file))](
                             exchange& x) { return serve_page_file(x, *kept); },
                .access = route_access::open});
}

}  // namespace

http_reply& protect_page(http_reply& reply) { return protect(reply, policy_for({})); }

void add_page_files(router& routes, std::span<const page_file> files, const page_needs& needs)
{
    const auto folder = needs.folder;
    const auto tag = tag_of_all(files);
    const auto below = '/' + std::string(folder);
    for (const auto& file : files) {
        const std::string path(file.path);
        add_file(routes, {path, text_with_style(file, folder, tag), file.text, file.type,
                          policy_for(file.style, needs.frames), asked_again});
        if (folder.empty() || !path.starts_with(below)) continue;
        const auto address = below + tag + '/' + path.substr(below.size());
        add_file(routes, {address, {}, file.text, file.type, policy_for({}), kept_for_good});
    }
}

}  // namespace cmcp
