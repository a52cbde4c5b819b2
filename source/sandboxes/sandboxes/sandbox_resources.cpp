#include "sandboxes/sandbox_resources.hpp"

#include "async/sized_work.hpp"
#include "files/file_error.hpp"
#include "files/file_resources.hpp"
#include "files/media_types.hpp"
#include "files/trees.hpp"
#include "jsonrpc/rpc_error.hpp"
#include "text/handles.hpp"
#include "text/number.hpp"
#include "text/utf8_text.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace cmcp {

namespace {

constexpr std::string_view scheme = "sandbox://";
constexpr std::size_t most_listed = 500;
constexpr std::uint64_t most_asked_for = 1 << 20;                // bytes of a text
constexpr std::string_view scheme_of_default = "workspace:///";  // as earlier versions named its files

// `rest`: the address of the next part, but for its offset; empty: a part was asked for.
json::object content_of(file_content file, std::string_view path, bool is_text, const std::string& rest)
{
    json::object content{{"mimeType", media_type_of(path, is_text ? "text/plain" : "application/octet-stream")}};
    if (file.next_offset && !rest.empty()) file.content += how_to_read_on(file.size, *file.next_offset, rest);
    content[is_text ? "text" : "blob"] = file.content;
    json::object about{{"size", file.size}};
    if (file.next_offset) about["next_offset"] = *file.next_offset;
    if (file.next_line) about["next_line"] = *file.next_line;
    if (rest.empty() || file.next_offset) content["_meta"] = std::move(about);
    return content;
}

[[noreturn]] void refuse_query(std::string_view why)
{
    throw rpc_error(rpc_code::invalid_params,
                    "uri: " + std::string(why) +
                        "; a part of a file is sandbox://SANDBOX/PATH?offset=BYTES&limit=BYTES or "
                        "sandbox://SANDBOX/PATH?line=NUMBER&lines=NUMBER");
}

std::uint64_t parse_count(std::string_view text)
{
    const auto count = read_number(text);
    if (!count) refuse_query("offset, limit, line and lines are whole numbers");
    return *count;
}

void take_member(file_read_request& request, std::string_view member)
{
    if (member.starts_with("offset="))
        request.offset = parse_count(member.substr(7));
    else if (member.starts_with("limit="))
        request.limit = parse_count(member.substr(6));
    else if (member.starts_with("line="))
        request.line = parse_count(member.substr(5));
    else if (member.starts_with("lines="))
        request.lines = parse_count(member.substr(6));
    else
        refuse_query("unknown member of the query");
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
    const std::size_t mark = std::min(uri.find('?'), uri.size());  // a question mark of a name is percent-encoded
    std::string_view named = uri.substr(0, mark);
    place named_file;
    if (named.starts_with(scheme_of_default)) {
        named.remove_prefix(scheme_of_default.size());
    } else if (named.starts_with(scheme)) {
        named.remove_prefix(scheme.size());
        const auto slash = std::min(named.find('/'), named.size());
        named_file.sandbox = named.substr(0, slash);
        named.remove_prefix(std::min(slash + 1, named.size()));
        if (named_file.sandbox.empty()) return std::nullopt;
    }
    if (named.empty() || named.size() == mark) return std::nullopt;
    auto path = decoded_uri_part(named);
    if (!path) return std::nullopt;
    named_file.file.path = std::move(*path);
    if (mark == uri.size()) return named_file;
    named_file.file.limit = std::numeric_limits<std::uint64_t>::max();
    std::string_view query = uri.substr(mark + 1);
    if (query.size() > 1 && query.ends_with('&')) query.remove_suffix(1);
    if (query.empty()) return named_file;
    for (const auto member : split(query, '&')) take_member(named_file.file, member);
    return named_file;
}

json::array sandbox_resources::templates() const
{
    return {resource_template("sandbox://{sandbox_id}/{+path}{?offset,limit,line,lines}", "part of a sandbox file",
                              "Part of a file of a sandbox",
                              "Bytes or lines of a long file, for example the output_uri of a run; _meta has its size "
                              "and the next offset."),
            resource_template("sandbox://{sandbox_id}/{+path}", "sandbox file", "File of a sandbox",
                              "A file by the handle or name of its sandbox and its path relative to the working "
                              "folder.")};
}

awaitable<json::array> sandbox_resources::list(const caller& who)
{
    json::array all;
    const auto own = co_await sandboxes_.all_of(who);
    for (const auto& each : own) {
        if (all.size() >= most_listed) break;
        auto describe = [each, most = most_listed - all.size()](tree_scan tree) { return rows_of(each, tree, most); };
        auto work = then(scan_tree(sandboxes_.places().files(each)), std::move(describe));
        auto rows = co_await pool_.run_long(each.owner, std::move(work));
        for (auto& row : rows) all.push_back(std::move(row));
    }
    co_return all;
}

awaitable<std::optional<json::object>> sandbox_resources::contents(sandbox_record where, file_read_request request,
                                                                   bool is_part)
{
    const bool is_text = request.encoding == "utf-8";
    const std::string path = request.path;
    const auto rest = is_part ? std::string() : sandbox_manager::uri_of(where, path) + "?offset=";
    try {
        auto read = co_await files_.read(where, std::move(request), files_.any_extension());
        const auto size = read.content.size();
        auto describe = [file = std::make_shared<file_content>(std::move(read)), path, is_text, rest] {
            return content_of(std::move(*file), path, is_text, rest);
        };
        auto content = co_await by_size(&pool_, where.owner, size, std::move(describe));
        co_return content;
    } catch (const file_not_text&) {
        co_return std::nullopt;
    }
}

awaitable<std::optional<json::object>> sandbox_resources::text_or_bytes(caller who, place wanted)
{
    std::optional<sandbox_record> where;
    try {
        const bool is_default = wanted.sandbox.empty() || wanted.sandbox == sandbox_manager::default_name ||
                                handle_maker::node_of(wanted.sandbox) == "home";
        if (is_default && sandbox_homes::is_stored_output(wanted.file.path))
            where = sandboxes_.place_of_outputs(who);
        else
            where = co_await sandboxes_.use(who, wanted.sandbox);
    } catch (const sandbox_error&) {
        // somebody else's, or none
    }
    if (!where) co_return std::nullopt;
    // A text comes in parts, as all results do; of other files a part is of no use, unless it is asked for.
    const bool is_part = wanted.file.limit.has_value();
    auto text = wanted.file;
    const bool has_limit = is_part && *text.limit != std::numeric_limits<std::uint64_t>::max();
    text.limit = has_limit || text.lines ? std::min(*text.limit, most_asked_for) : most_text_;
    auto result = co_await contents(*where, std::move(text), is_part);
    wanted.file.encoding = "base64";
    if (!result) result = co_await contents(*where, std::move(wanted.file), is_part);
    co_return result;
}

awaitable<std::optional<json::array>> sandbox_resources::read(const caller& who, std::string uri)
{
    auto file = parse(uri);
    if (!file) co_return std::nullopt;
    auto work = text_or_bytes(who, std::move(*file));
    auto described = co_await contents_of(std::move(work), std::move(uri));
    co_return described;
}

std::shared_ptr<void> sandbox_resources::observe(const caller& who, const std::string& uri,
                                                 std::function<void()> changed)
try {
    const auto file = parse(uri);
    if (!file) return nullptr;
    const auto where = sandboxes_.find(who, file->sandbox);
    return observe_file(watch_, who.principal, sandboxes_.places().files(where), file->file.path, std::move(changed));
} catch (const sandbox_error&) {
    return nullptr;  // somebody else's, or none
}

}  // namespace cmcp
