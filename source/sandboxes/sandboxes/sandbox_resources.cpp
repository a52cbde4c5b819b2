#include "sandboxes/sandbox_resources.hpp"

#include "files/file_error.hpp"
#include "files/file_resources.hpp"
#include "files/trees.hpp"
#include "files/workspace_resources.hpp"
#include "jsonrpc/rpc_error.hpp"
#include "text/encodings.hpp"
#include "text/utf8_text.hpp"

#include <memory>
#include <utility>

namespace cmcp {

namespace {

constexpr std::string_view scheme = "sandbox://";
constexpr std::size_t most_listed = 500;
constexpr std::uint64_t largest_read = 10 << 20;

json::object content_of(std::string bytes, const std::string& path)
{
    const bool text = valid_utf8_length(bytes) == bytes.size();
    json::object content;
    content["mimeType"] = media_type_of(path, text ? "text/plain" : "application/octet-stream");
    content[text ? "text" : "blob"] = text ? bytes : base64_encode(bytes);
    return content;
}

json::array rows_of(const sandbox_record& where, const tree_scan& tree, std::size_t most)
{
    json::array rows;
    for (const auto& [path, stamp] : tree.files) {
        if (rows.size() >= most) break;
        if (valid_utf8_length(path) != path.size()) continue;
        json::object row;
        row["uri"] = sandbox_manager::uri_of(where, path);
        row["name"] = where.name + "/" + path;
        row["mimeType"] = media_type_of(path, "application/octet-stream");
        row["size"] = stamp.size;
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace

std::optional<sandbox_resources::place> sandbox_resources::parse(std::string_view uri)
{
    if (!uri.starts_with(scheme)) return std::nullopt;
    uri.remove_prefix(scheme.size());
    const auto slash = uri.find('/');
    if (slash == std::string_view::npos || slash + 1 == uri.size()) return std::nullopt;
    auto path = decoded_uri_part(uri.substr(slash + 1));
    if (!path) return std::nullopt;
    return place{std::string(uri.substr(0, slash)), std::move(*path)};
}

json::array sandbox_resources::templates() const
{
    return {resource_template("sandbox://{sandbox_id}/{+path}", "sandbox file", "File of a sandbox",
                              "A file by the handle of its sandbox and its path relative to the working folder.")};
}

awaitable<json::array> sandbox_resources::list(const caller& who)
{
    json::array all;
    const auto own = co_await sandboxes_.all_of(who);
    for (const auto& each : own) {
        if (all.size() >= most_listed) break;
        auto describe = [each, most = most_listed - all.size()](tree_scan tree) { return rows_of(each, tree, most); };
        auto work = then(scan_tree(sandboxes_.places().workspace(each.id)), std::move(describe));
        auto rows = co_await pool_.run_long(each.owner, std::move(work));
        for (auto& row : rows) all.push_back(std::move(row));
    }
    co_return all;
}

awaitable<std::optional<json::object>> sandbox_resources::contents(caller who, place wanted)
{
    std::string bytes;
    try {
        auto where = sandboxes_.find(who, wanted.sandbox);
        const auto file = co_await files_.download(std::move(where), wanted.path);
        if (file->size() > largest_read)
            throw file_error("The file is too large to be read as a resource; download it by GET /sandbox/file.");
        bytes = co_await file->read(0, static_cast<std::size_t>(file->size()));
    } catch (const sandbox_error&) {
        co_return std::nullopt;  // somebody else's, or none
    }
    auto describe = [bytes_read = std::make_shared<std::string>(std::move(bytes)), path = std::move(wanted.path)] {
        return content_of(std::move(*bytes_read), path);
    };
    auto content = co_await pool_.run(who.principal, std::move(describe));
    co_return content;
}

awaitable<std::optional<json::array>> sandbox_resources::read(const caller& who, std::string uri)
{
    auto file = parse(uri);
    if (!file) co_return std::nullopt;
    auto work = contents(who, std::move(*file));
    auto described = co_await contents_of(std::move(work), std::move(uri));
    co_return described;
}

std::shared_ptr<void> sandbox_resources::observe(const caller& who, const std::string& uri,
                                                 std::function<void()> changed)
try {
    const auto file = parse(uri);
    if (!file) return nullptr;
    const auto where = sandboxes_.find(who, file->sandbox);
    return observe_file(watch_, who.principal, sandboxes_.places().workspace(where.id), file->path, std::move(changed));
} catch (const sandbox_error&) {
    return nullptr;  // somebody else's, or none
}

}  // namespace cmcp
