#include "files/paged_resources.hpp"

#include "files/file_error.hpp"
#include "files/resource_uri.hpp"
#include "files/workspace_resources.hpp"
#include "jsonrpc/rpc_error.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace cmcp {
namespace {

[[noreturn]] void refuse(std::string_view why)
{
    throw rpc_error(rpc_code::invalid_params,
                    "uri: " + std::string(why) + "; a part of a file is workspace:///PATH?offset=BYTES&limit=BYTES");
}

std::uint64_t parse_count(std::string_view text)
{
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) refuse("offset and limit are whole numbers of bytes");
    return value;
}

void take_member(file_read_request& into, std::string_view member)
{
    if (member.starts_with("offset="))
        into.offset = parse_count(member.substr(7));
    else if (member.starts_with("limit="))
        into.limit = parse_count(member.substr(6));
    else
        refuse("unknown member of the query");
}

void take_query(file_read_request& into, std::string_view query)
{
    while (!query.empty()) {
        const std::size_t end = std::min(query.find('&'), query.size());
        take_member(into, query.substr(0, end));
        query.remove_prefix(std::min(end + 1, query.size()));
    }
}

}  // namespace

std::optional<file_read_request> paged_resources::parse(std::string_view uri)
{
    const std::size_t mark = uri.find('?');  // a question mark of a name is percent-encoded
    if (mark == std::string_view::npos) return std::nullopt;
    auto path = workspace_resources::path_of(uri.substr(0, mark));
    if (!path) return std::nullopt;
    file_read_request what;
    what.path = std::move(*path);
    take_query(what, uri.substr(mark + 1));
    return what;
}

awaitable<json::array> paged_resources::list(const caller&) { co_return json::array(); }

json::array paged_resources::templates() const
{
    return one_template(
        "workspace:///{+path}{?offset,limit}", "part of a workspace file", "Part of a file of the workspace",
        "Bytes of a long file, for example the output_uri of a run; _meta has its size and the next offset.");
}

awaitable<std::optional<json::object>> paged_resources::part(caller who, file_read_request what)
{
    json::object made, about;
    const bool text = what.encoding == "utf-8";
    if (!what.limit) what.limit = files_.policy().max_size();
    made["mimeType"] = media_type_of(what.path, text ? "text/plain" : "application/octet-stream");
    try {
        file_content read = co_await files_.read(std::move(who), std::move(what));
        made[text ? "text" : "blob"] = std::move(read.content);
        about["size"] = read.size;
        if (read.next_offset) about["next_offset"] = *read.next_offset;
    } catch (const file_not_text&) {
        co_return std::nullopt;
    }
    made["_meta"] = std::move(about);
    co_return made;
}

awaitable<std::optional<json::object>> paged_resources::text_or_bytes(caller who, file_read_request what)
{
    auto found = co_await part(who, what);
    what.encoding = "base64";
    if (!found) found = co_await part(std::move(who), std::move(what));
    co_return found;
}

awaitable<std::optional<json::array>> paged_resources::read(const caller& who, std::string uri)
{
    auto what = parse(uri);
    if (!what) co_return std::nullopt;
    auto work = text_or_bytes(who, std::move(*what));
    auto found = co_await contents_of(std::move(work), std::move(uri));
    co_return found;
}

}  // namespace cmcp
