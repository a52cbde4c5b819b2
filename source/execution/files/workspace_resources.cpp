#include "files/workspace_resources.hpp"

#include "files/file_error.hpp"
#include "files/file_resources.hpp"
#include "jsonrpc/rpc_error.hpp"
#include "text/encodings.hpp"
#include "text/number.hpp"
#include "text/utf8_text.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace cmcp {

namespace {

constexpr std::string_view scheme = "workspace:///";
constexpr std::size_t most_listed = 1000;

constexpr std::array<std::pair<std::string_view, std::string_view>, 16> media_types{{
    {"txt", "text/plain"},
    {"md", "text/markdown"},
    {"csv", "text/csv"},
    {"json", "application/json"},
    {"py", "text/x-python"},
    {"html", "text/html"},
    {"xml", "application/xml"},
    {"yaml", "application/yaml"},
    {"sh", "text/x-shellscript"},
    {"js", "text/javascript"},
    {"svg", "image/svg+xml"},
    {"png", "image/png"},
    {"jpg", "image/jpeg"},
    {"gif", "image/gif"},
    {"pdf", "application/pdf"},
    {"zip", "application/zip"},
}};

bool stands_for_itself(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == '~' || c == '/';
}

bool is_readable(const file_policy& policy, const file_entry& entry)
{
    if (entry.type != "file" || *entry.size > policy.max_size()) return false;
    return valid_utf8_length(entry.path) == entry.path.size() && policy.allows(entry.path);
}

json::object describe(const file_entry& entry)
{
    return {{"uri", workspace_resources::uri_of(entry.path)},
            {"name", entry.path},
            {"mimeType", media_type_of(entry.path, "application/octet-stream")},
            {"size", *entry.size}};
}

[[noreturn]] void refuse_query(std::string_view why)
{
    throw rpc_error(rpc_code::invalid_params, "uri: " + std::string(why) +
                                                  "; a part of a file is workspace:///PATH?offset=BYTES&limit=BYTES or "
                                                  "workspace:///PATH?line=NUMBER&lines=NUMBER");
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

}  // namespace

std::string_view media_type_of(std::string_view path, std::string_view fallback)
{
    const std::string extension = file_policy::extension_of(path);
    for (const auto& [known, type] : media_types)
        if (known == extension) return type;
    return fallback;
}

std::string workspace_resources::uri_of(std::string_view path)
{
    return std::string(scheme) + percent_encoded(path, stands_for_itself);
}

std::optional<std::string> workspace_resources::path_of(std::string_view uri)
{
    if (!uri.starts_with(scheme) || uri.size() == scheme.size()) return std::nullopt;
    return decoded_uri_part(uri.substr(scheme.size()));
}

std::optional<file_read_request> workspace_resources::parse(std::string_view uri)
{
    const std::size_t mark = std::min(uri.find('?'), uri.size());  // a question mark of a name is percent-encoded
    auto path = path_of(uri.substr(0, mark));
    if (!path) return std::nullopt;
    file_read_request request;
    request.path = std::move(*path);
    if (mark == uri.size()) return request;
    request.limit = std::numeric_limits<std::uint64_t>::max();
    std::string_view query = uri.substr(mark + 1);
    if (query.size() > 1 && query.ends_with('&')) query.remove_suffix(1);
    if (query.empty()) return request;
    for (const auto member : split(query, '&')) take_member(request, member);
    return request;
}

json::array workspace_resources::templates() const
{
    return {resource_template("workspace:///{+path}{?offset,limit,line,lines}", "part of a workspace file",
                              "Part of a file of the workspace",
                              "Bytes or lines of a long file, for example the output_uri of a run; _meta has its size "
                              "and the next offset."),
            resource_template("workspace:///{+path}", "workspace file", "File of the workspace",
                              "A file by its path relative to the workspace, as file_list gives it.")};
}

awaitable<json::array> workspace_resources::list(const caller& who)
{
    file_list_request request;
    request.recursive = true;
    request.limit = most_listed;
    request.page_bytes = std::numeric_limits<std::size_t>::max();
    request.fits = [policy = files_.policy()](const file_entry& entry) { return is_readable(policy, entry); };
    auto describe_all = [](file_page page) {
        json::array all;
        for (const auto& entry : page.entries) all.push_back(describe(entry));
        return all;
    };
    auto all = co_await files_.list_here(who, std::move(request), std::move(describe_all));  // each lists what it has
    co_return all;
}

awaitable<std::optional<json::object>> workspace_resources::contents(caller who, file_read_request request)
{
    const bool text = request.encoding == "utf-8";
    const bool part = request.limit.has_value();
    const std::string type(media_type_of(request.path, text ? "text/plain" : "application/octet-stream"));
    auto describe = [text, part, type](file_content file) {
        json::object contents{{"mimeType", type}};
        contents[text ? "text" : "blob"] = file.content;
        json::object about{{"size", file.size}};
        if (file.next_offset) about["next_offset"] = *file.next_offset;
        if (file.next_line) about["next_line"] = *file.next_line;
        if (part) contents["_meta"] = std::move(about);
        return contents;
    };
    try {
        auto contents = co_await files_.read(std::move(who), std::move(request), std::move(describe));
        co_return contents;
    } catch (const file_not_text&) {
        co_return std::nullopt;
    }
}

awaitable<std::optional<json::object>> workspace_resources::text_or_bytes(caller who, file_read_request request)
{
    auto result = co_await contents(who, request);
    request.encoding = "base64";
    if (!result) result = co_await contents(std::move(who), std::move(request));
    co_return result;
}

awaitable<std::optional<json::array>> workspace_resources::read(const caller& who, std::string uri)
{
    auto request = parse(uri);
    if (!request) co_return std::nullopt;
    auto work = text_or_bytes(who, std::move(*request));
    auto contents = co_await contents_of(std::move(work), std::move(uri));
    co_return contents;
}

std::shared_ptr<void> workspace_resources::observe(const caller& who, const std::string& uri,
                                                   std::function<void()> changed)
{
    const auto path = path_of(uri);
    return path ? observe_file(watch_, who.principal, files_.folder(who), *path, std::move(changed)) : nullptr;
}

}  // namespace cmcp
