#include "sandboxes/sandbox_resources.hpp"

#include "files/file_error.hpp"
#include "files/file_resources.hpp"
#include "files/trees.hpp"
#include "files/workspace_resources.hpp"
#include "jsonrpc/rpc_error.hpp"
#include "text/encodings.hpp"
#include "text/number.hpp"
#include "text/utf8_text.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace cmcp {

namespace {

constexpr std::string_view scheme = "sandbox://";
constexpr std::size_t most_listed = 500;
constexpr std::uint64_t largest_read = 10 << 20;
constexpr std::uint64_t most_asked_for = 1 << 20;  // bytes of a part

struct stored_part {
    std::string uri;  ///< of the whole file
    std::uint64_t size = 0, offset = 0;
    bool on_request = false;  ///< the URI names it
};

json::object content_of(std::string bytes, const std::string& path)
{
    const bool text = valid_utf8_length(bytes) == bytes.size();
    json::object content;
    content["mimeType"] = media_type_of(path, text ? "text/plain" : "application/octet-stream");
    content[text ? "text" : "blob"] = text ? bytes : base64_encode(bytes);
    return content;
}

// Of a part of a text the last character may be cut: it belongs to the next part.
bool is_part_of_text(std::string_view bytes)
{
    const auto text = valid_utf8_length(bytes);
    return bytes.size() - text < 4 && (text != 0 || bytes.empty());
}

json::object part_of(std::string bytes, const stored_part& of, const std::string& path)
{
    const bool text = is_part_of_text(bytes);
    if (text) bytes.resize(valid_utf8_length(bytes));
    const auto next = of.offset + bytes.size();
    json::object about{{"size", of.size}};
    if (next < of.size) about["next_offset"] = next;
    if (text && next < of.size && !of.on_request) bytes += how_to_read_on(of.size, next, of.uri + "?offset=");
    auto content = content_of(std::move(bytes), path);
    content["_meta"] = std::move(about);
    return content;
}

void take_query(sandbox_resources::place& wanted, std::string_view query)
{
    for (const auto member : split(query, '&')) {
        if (member.empty()) continue;
        const auto sign = std::min(member.find('='), member.size());
        const auto name = member.substr(0, sign);
        const auto count = read_number(member.substr(std::min(sign + 1, member.size())));
        if (!count || (name != "offset" && name != "limit"))
            throw rpc_error(
                rpc_code::invalid_params,
                "uri: a part of a file is sandbox://SANDBOX/PATH?offset=BYTES&limit=BYTES, in whole numbers");
        (name == "offset" ? wanted.offset : wanted.limit) = *count;
    }
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
    const auto mark = std::min(uri.find('?'), uri.size());  // a question mark of a name is percent-encoded
    place wanted;
    wanted.uri = uri.substr(0, mark);
    if (mark != uri.size()) take_query(wanted, uri.substr(mark + 1));
    uri = uri.substr(scheme.size(), mark - scheme.size());
    const auto slash = uri.find('/');
    if (slash == std::string_view::npos || slash + 1 == uri.size()) return std::nullopt;
    auto path = decoded_uri_part(uri.substr(slash + 1));
    if (!path) return std::nullopt;
    wanted.sandbox = uri.substr(0, slash);
    wanted.path = std::move(*path);
    return wanted;
}

json::array sandbox_resources::templates() const
{
    return {resource_template("sandbox://{sandbox_id}/{+path}", "sandbox file", "File of a sandbox",
                              "A file by the handle of its sandbox and its path relative to the working folder."),
            resource_template("sandbox://{sandbox_id}/{+path}{?offset,limit}", "part of a sandbox file",
                              "Part of a file of a sandbox",
                              "Bytes of a long file, for example the output_uri of a run; _meta has its size and the "
                              "next offset.")};
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
    const bool on_request = wanted.offset || wanted.limit;
    std::string bytes;
    stored_part part{wanted.uri, 0, wanted.offset.value_or(0), on_request};
    bool is_part = on_request;
    try {
        auto where = sandboxes_.find(who, wanted.sandbox);
        const auto file = co_await files_.download(std::move(where), wanted.path);
        part.size = file->size();
        const auto most = std::min(wanted.limit.value_or(most_text_), most_asked_for);
        if (on_request || part.size > most_text_) bytes = co_await file->read(part.offset, most);
        is_part = on_request || (!bytes.empty() && is_part_of_text(bytes));
        if (!is_part && part.size > largest_read)
            throw file_error("The file is too large to be read as a resource; download it by GET /sandbox/file.");
        if (!is_part) bytes = co_await file->read(0, static_cast<std::size_t>(part.size));
    } catch (const sandbox_error&) {
        co_return std::nullopt;  // somebody else's, or none
    }
    auto describe = [bytes_read = std::make_shared<std::string>(std::move(bytes)), path = std::move(wanted.path),
                     is_part, part] {
        return is_part ? part_of(std::move(*bytes_read), part, path) : content_of(std::move(*bytes_read), path);
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
