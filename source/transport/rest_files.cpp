#include "transport/rest_files.hpp"

#include "http/body_stream.hpp"
#include "jsonrpc/write_json.hpp"
#include "transport/byte_range.hpp"
#include "transport/content_disposition.hpp"
#include "transport/form_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t piece = 256 * 1024;

std::string http_date(double seconds)
{
    const auto whole = static_cast<std::time_t>(std::floor(seconds));
    std::tm parts{};
    ::gmtime_r(&whole, &parts);
    std::array<char, 40> text{};
    std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    return text.data();
}

// What the file is was decided by code that nobody vouches for: a browser must neither show it nor guess.
exchange::fields fields_of(const file_download& file, const std::string& tag)
{
    return {{"ETag", tag},
            {"Last-Modified", http_date(file.modified())},
            {"Accept-Ranges", "bytes"},
            {"Content-Disposition", content_disposition(file.name())},
            {"X-Content-Type-Options", "nosniff"},
            {"Content-Security-Policy", "sandbox; default-src 'none'"},
            {"Cache-Control", "private, no-cache"}};
}

std::string range_text(const byte_range& range, std::uint64_t size)
{
    if (range.is == byte_range::kind::unsatisfiable) return "bytes */" + std::to_string(size);
    return "bytes " + std::to_string(range.first) + "-" + std::to_string(range.first + range.length - 1) + "/" +
           std::to_string(size);
}

std::map<std::string, std::string> query_of(const http_request& asked)
{
    std::map<std::string, std::string> made;
    for (const char* name : {"sandbox_id", "sandbox_name", "file_path", "dest_path"})
        if (auto value = asked.parameter(name)) made[name] = std::move(*value);
    return made;
}

std::string value_of(const std::map<std::string, std::string>& from, const std::string& name)
{
    const auto found = from.find(name);
    return found == from.end() ? std::string() : found->second;
}

// The file of a form keeps its name where none is asked for, and in a folder.
void add_file_name(std::map<std::string, std::string>& named, const std::string& name)
{
    auto& path = named["file_path"];
    if (path.empty()) path = value_of(named, "dest_path");
    if (path.empty() || path.ends_with('/')) path += name;
}

std::string sandbox_of(const std::map<std::string, std::string>& named)
{
    auto found = value_of(named, "sandbox_id");
    if (found.empty()) found = value_of(named, "sandbox_name");
    if (found.empty()) throw gateway_error(400, "sandbox_id or sandbox_name must name a sandbox.");
    return found;
}

http_reply refusal_of(const gateway_error& refused)
{
    const bool untyped = refused.type.empty() && refused.status == 400;
    return error_reply(refused.status, refused.what(), untyped ? "InvalidArgument" : refused.type);
}

}  // namespace

void rest_files::add_routes(router& routes)
{
    for (const auto* method : {"GET", "HEAD"})
        routes.add(method, "/sandbox/file", [this](exchange& x) { return download(x); });
    routes.add(
        "POST", "/sandbox/file", [this](exchange& x) { return upload(x); }, true);
}

awaitable<> rest_files::download(exchange& x)
{
    std::unique_ptr<file_download> file;
    http_reply refusal;
    try {
        const auto named = query_of(x.request());
        const auto path = value_of(named, "file_path");
        if (path.empty()) throw gateway_error(400, "file_path must name a file.");
        auto sandbox = sandbox_of(named);
        file = co_await files_.open(x.request().principal, std::move(sandbox), path);
    } catch (const gateway_error& refused) {
        refusal = refusal_of(refused);
    }
    if (file)
        co_await send(x, std::move(file));
    else
        co_await x.reply(std::move(refusal));
}

awaitable<> rest_files::send(exchange& x, std::unique_ptr<file_download> file)
{
    const std::string tag = "\"" + file->tag() + "\"";
    auto headers = fields_of(*file, tag);
    if (x.request().header("if-none-match").value_or("") == tag) {
        http_reply same;
        same.status = 304;
        same.fields = std::move(headers);
        co_await x.reply(std::move(same));
        co_return;
    }
    const auto asked = x.request().header("range");
    const bool current = x.request().header("if-range").value_or(tag) == tag;
    const auto range =
        read_range(asked && current ? std::optional<std::string_view>(*asked) : std::nullopt, file->size());
    if (range.is != byte_range::kind::whole) headers.emplace_back("Content-Range", range_text(range, file->size()));
    if (range.is == byte_range::kind::unsatisfiable) {
        auto refusal = error_reply(416, "The file has " + std::to_string(file->size()) + " bytes.");
        refusal.fields = std::move(headers);
        co_await x.reply(std::move(refusal));
        co_return;
    }
    const int status = range.is == byte_range::kind::part ? 206 : 200;
    const std::string type = file->media_type();
    bool delivered = co_await x.begin_sized(status, type, std::move(headers), range.length);
    std::uint64_t sent = x.request().method == "HEAD" ? range.length : 0;
    while (delivered && sent < range.length) {
        const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(piece, range.length - sent));
        const std::string bytes = co_await file->read(range.first + sent, most);
        if (bytes.empty()) break;  // it was cut meanwhile; the connection ends, so that the client sees it
        delivered = co_await x.write_body(bytes);
        sent += bytes.size();
    }
}

awaitable<> rest_files::upload(exchange& x)
{
    http_reply reply;
    try {
        const auto stored = co_await store(x);
        reply.body = jsonrpc::write_json(stored);
    } catch (const gateway_error& refused) {
        reply = refusal_of(refused);
    }
    reply.close = !x.request().stream->complete();
    co_await x.reply(std::move(reply));
}

awaitable<json::object> rest_files::store(exchange& x)
{
    auto named = query_of(x.request());
    auto boundary = form_file::boundary_of(x.request().header("content-type").value_or(""));
    json::object stored;
    if (boundary)
        stored = co_await store_form(x, std::move(*boundary), std::move(named));
    else
        stored = co_await store_body(x, named);
    co_return stored;
}

awaitable<std::unique_ptr<file_upload>> rest_files::begin(exchange& x, const fields& named,
                                                          std::optional<std::uint64_t> announced)
{
    auto path = value_of(named, "file_path");
    if (path.empty()) path = value_of(named, "dest_path");
    if (path.empty()) throw gateway_error(400, "file_path must name the file that the body becomes.");
    auto sandbox = sandbox_of(named);
    auto made = co_await files_.begin(x.request().principal, std::move(sandbox), std::move(path), announced);
    co_return made;
}

awaitable<json::object> rest_files::store_body(exchange& x, const fields& named)
{
    auto& body = *x.request().stream;
    const auto upload = co_await begin(x, named, body.announced());
    for (;;) {
        auto bytes = co_await body.next();
        if (!bytes) break;
        co_await upload->write(std::move(*bytes));
    }
    if (!body.complete()) throw gateway_error(400, "The body ended before its announced length; nothing was stored.");
    auto stored = co_await upload->finish();
    co_return stored;
}

awaitable<json::object> rest_files::store_form(exchange& x, std::string boundary, fields named)
{
    auto& body = *x.request().stream;
    form_file form(boundary);
    std::unique_ptr<file_upload> upload;
    for (;;) {
        auto bytes = co_await body.next();
        if (!bytes) break;
        auto part = form.put(*bytes);
        if (form.at() == form_file::state::bad)
            throw gateway_error(400, "The form is not valid multipart/form-data with one file.");
        if (!upload && form.at() != form_file::state::fields) {
            for (const auto& [name, value] : form.fields()) named.try_emplace(name, value);
            add_file_name(named, form.file_name().substr(form.file_name().rfind('/') + 1));
            upload = co_await begin(x, named, std::nullopt);
        }
        if (upload && !part.empty()) co_await upload->write(std::move(part));
    }
    if (!body.complete() || !form.complete() || !upload)
        throw gateway_error(400, "The form ended early, or has no file; nothing was stored.");
    auto stored = co_await upload->finish();
    co_return stored;
}

}  // namespace cmcp
