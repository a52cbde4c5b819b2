#include "sandboxes/rest_files.hpp"

#include "http/body_stream.hpp"
#include "http/http_refusal.hpp"
#include "http/router.hpp"
#include "jsonrpc/write_json.hpp"
#include "rest/byte_range.hpp"
#include "rest/content_disposition.hpp"
#include "rest/form_file.hpp"
#include "sandboxes/http_refusals.hpp"
#include "sandboxes/sandbox_files.hpp"
#include "text/time_text.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <utility>

namespace cmcp {

namespace {

using named_values = std::map<std::string, std::string>;

constexpr std::size_t piece = 256 * 1024;

std::string http_date(double seconds)
{
    return utc_text(static_cast<std::time_t>(std::floor(seconds)), "%a, %d %b %Y %H:%M:%S GMT");
}

// A frame of /ui shows what a browser draws by itself: a page, in an origin of its own from which it reaches nothing,
// and a PDF, whose viewer works in no sandbox and runs no script of a page.
std::string_view policy_in_frame(std::string_view type)
{
    if (type.starts_with("text/html") || type.starts_with("image/svg+xml"))
        return "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
               "img-src data: blob:; font-src data:; media-src data:; frame-ancestors 'self'";
    if (type == "application/pdf")
        return "default-src 'none'; style-src 'unsafe-inline'; object-src 'self'; frame-ancestors 'self'";
    return {};
}

// Code of a run decided what the file holds, so a browser must neither show the file by itself nor guess its type.
exchange::fields fields_of(const file_download& file, const std::string& tag, bool in_frame)
{
    const auto framed = in_frame ? policy_in_frame(file.media_type()) : std::string_view();
    return {{"ETag", tag},
            {"Last-Modified", http_date(file.modified())},
            {"Accept-Ranges", "bytes"},
            {"Content-Disposition", framed.empty() ? content_disposition(file.name()) : "inline"},
            {"X-Content-Type-Options", "nosniff"},
            {"Content-Security-Policy", framed.empty() ? "sandbox; default-src 'none'" : std::string(framed)},
            {"Cache-Control", "private, no-cache"}};
}

std::string range_text(const byte_range& range, std::uint64_t size)
{
    if (range.is == byte_range::kind::unsatisfiable) return "bytes */" + std::to_string(size);
    return "bytes " + std::to_string(range.first) + "-" + std::to_string(range.first + range.length - 1) + "/" +
           std::to_string(size);
}

named_values query_of(const http_request& request)
{
    named_values values;
    for (const char* name : {"sandbox_id", "sandbox_name", "file_path", "dest_path"})
        if (auto value = request.parameter(name)) values[name] = std::move(*value);
    return values;
}

std::string value_of(const named_values& from, const std::string& name)
{
    const auto at = from.find(name);
    return at == from.end() ? std::string() : at->second;
}

// The file of a form keeps its name where none is asked for, and in a folder.
void add_file_name(named_values& named, const std::string& name)
{
    auto& path = named["file_path"];
    if (path.empty()) path = value_of(named, "dest_path");
    if (path.empty() || path.ends_with('/')) path += name;
}

// Empty: the default one.
std::string sandbox_of(const named_values& named)
{
    const auto sandbox = value_of(named, "sandbox_id");
    return sandbox.empty() ? value_of(named, "sandbox_name") : sandbox;
}

awaitable<> send(exchange& x, std::unique_ptr<file_download> file)
{
    const std::string tag = "\"" + file->tag() + "\"";
    auto headers = fields_of(*file, tag, x.request().parameter("in_frame").has_value());
    if (x.request().header("if-none-match").value_or("") == tag) {
        http_reply same;
        same.status = 304;
        same.fields = std::move(headers);
        co_await x.reply(std::move(same));
        co_return;
    }
    const auto wanted = x.request().header("range");
    const bool current = x.request().header("if-range").value_or(tag) == tag;
    const auto range =
        read_range(wanted && current ? std::optional<std::string_view>(*wanted) : std::nullopt, file->size());
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
        if (bytes.empty()) break;  // the file was cut meanwhile; the connection ends, so that the client sees it
        delivered = co_await x.write_body(bytes);
        sent += bytes.size();
    }
}

awaitable<> download(exchange& x, sandbox_files& files)
{
    std::unique_ptr<file_download> file;
    http_reply refusal;
    try {
        const auto named = query_of(x.request());
        const auto path = value_of(named, "file_path");
        if (path.empty()) throw http_refusal(400, "file_path must name a file.");
        auto sandbox = sandbox_of(named);
        file = co_await files.open(x.request().principal, std::move(sandbox), path);
    } catch (const std::runtime_error&) {
        refusal = reply_to_refusal(std::current_exception());
    }
    if (file)
        co_await send(x, std::move(file));
    else
        co_await x.reply(std::move(refusal));
}

awaitable<std::unique_ptr<file_upload>> begin(exchange& x, sandbox_files& files, const named_values& named,
                                              std::optional<std::uint64_t> announced)
{
    auto path = value_of(named, "file_path");
    if (path.empty()) path = value_of(named, "dest_path");
    if (path.empty()) throw http_refusal(400, "file_path must name the file that the body becomes.");
    auto sandbox = sandbox_of(named);
    auto started = co_await files.begin(x.request().principal, std::move(sandbox), std::move(path), announced);
    co_return started;
}

awaitable<json::object> store_body(exchange& x, sandbox_files& files, const named_values& named)
{
    auto& body = *x.request().stream;
    const auto upload = co_await begin(x, files, named, body.announced());
    for (;;) {
        auto bytes = co_await body.next();
        if (!bytes) break;
        co_await upload->write(std::move(*bytes));
    }
    if (!body.complete()) throw http_refusal(400, "The body ended before its announced length; nothing was stored.");
    auto stored = co_await upload->finish();
    co_return stored;
}

awaitable<json::object> store_form(exchange& x, sandbox_files& files, std::string boundary, named_values named)
{
    auto& body = *x.request().stream;
    form_file form(boundary);
    std::unique_ptr<file_upload> upload;
    for (;;) {
        auto bytes = co_await body.next();
        if (!bytes) break;
        auto part = form.put(*bytes);
        if (form.at() == form_file::state::bad)
            throw http_refusal(400, "The form is not valid multipart/form-data with one file.");
        if (!upload && form.at() != form_file::state::fields) {
            for (const auto& [name, value] : form.fields()) named.try_emplace(name, value);
            add_file_name(named, form.file_name().substr(form.file_name().rfind('/') + 1));
            upload = co_await begin(x, files, named, std::nullopt);
        }
        if (upload && !part.empty()) co_await upload->write(std::move(part));
    }
    if (!body.complete() || !form.complete() || !upload)
        throw http_refusal(400, "The form ended early, or has no file; nothing was stored.");
    auto stored = co_await upload->finish();
    co_return stored;
}

awaitable<json::object> store(exchange& x, sandbox_files& files)
{
    auto named = query_of(x.request());
    auto boundary = form_file::boundary_of(x.request().header("content-type").value_or(""));
    json::object stored;
    if (boundary)
        stored = co_await store_form(x, files, std::move(*boundary), std::move(named));
    else
        stored = co_await store_body(x, files, named);
    co_return stored;
}

awaitable<> upload(exchange& x, sandbox_files& files)
{
    http_reply reply;
    try {
        const auto stored = co_await store(x, files);
        reply.body = jsonrpc::write_json(stored);
    } catch (const std::runtime_error&) {
        reply = reply_to_refusal(std::current_exception(), 400);
    }
    reply.close = !x.request().stream->complete();
    co_await x.reply(std::move(reply));
}

json::object query_parameter(std::string_view name, std::string_view description, bool required)
{
    json::object described;
    described["name"] = name;
    described["in"] = "query";
    described["required"] = required;
    described["description"] = description;
    described["schema"] = json::object{{"type", "string"}};
    return described;
}

json::array file_parameters()
{
    json::array parameters;
    parameters.push_back(
        query_parameter("sandbox_id", "Handle of the sandbox (or sandbox_name); left out: the default one", false));
    parameters.push_back(query_parameter("sandbox_name", "Name of the sandbox (or sandbox_id)", false));
    parameters.push_back(
        query_parameter("file_path", "Path of the file, relative to the working folder or beginning with it", true));
    return parameters;
}

json::object bytes_schema() { return {{"type", "string"}, {"format", "binary"}}; }

json::array download_parameters()
{
    auto parameters = file_parameters();
    parameters.push_back(query_parameter(
        "in_frame", "A page or PDF is shown in a frame of /ui, where it reaches nothing, in place of a download",
        false));
    return parameters;
}

std::vector<route_operation> describe_download(const http_request&)
{
    route_operation download;
    download.path = "/sandbox/file";
    download.id = "download_file";
    download.summary = "Download a file of a sandbox; ranges are served";
    download.tag = "sandboxes";
    download.parameters = download_parameters();
    download.gives["application/octet-stream"] = bytes_schema();
    download.gives_what = "The bytes";
    return {download};
}

std::vector<route_operation> describe_upload(const http_request&)
{
    const json::object text{{"type", "string"}};
    route_operation upload;
    upload.path = "/sandbox/file";
    upload.id = "upload_file";
    upload.summary = "Upload a file to a sandbox: the body is the file, or a form with one";
    upload.tag = "sandboxes";
    upload.parameters = file_parameters();
    upload.takes["application/octet-stream"] = bytes_schema();
    upload.takes["multipart/form-data"] = json::object{
        {"type", "object"}, {"properties", {{"file", bytes_schema()}, {"sandbox_id", text}, {"file_path", text}}}};
    upload.gives["application/json"] = json::object{
        {"type", "object"},
        {"properties",
         {{"success", {{"type", "boolean"}}}, {"path", {{"type", "string"}}}, {"size", {{"type", "integer"}}}}}};
    upload.gives_what = "Stored";
    return {upload};
}

std::string named_sandbox(const http_request& by) { return by.parameter("sandbox_id").value_or(""); }

}  // namespace

void add_file_routes(router& routes, sandbox_files& files)
{
    routes.add({.methods = {"GET", "HEAD"},
                .path = "/sandbox/file",
                .serve = [&files](exchange& x) { return download(x, files); },
                .needs = scope::read,
                .audit = route_audit::calls,
                .handle = named_sandbox,
                .signed_links = true,
                .by_browser = true,
                .operations = describe_download});
    routes.add({.methods = {"POST"},
                .path = "/sandbox/file",
                .serve = [&files](exchange& x) { return upload(x, files); },
                .needs = scope::files,
                .body = route_body::streamed,
                .audit = route_audit::calls,
                .counts = route_counts::changes,
                .handle = named_sandbox,
                .by_browser = true,
                .operations = describe_upload});
}

}  // namespace cmcp
