#include "files/workspace_resources.hpp"

#include "files/file_error.hpp"
#include "files/resource_observer.hpp"
#include "files/resource_uri.hpp"
#include "jsonrpc/rpc_error.hpp"
#include "text/utf8_text.hpp"

#include <array>
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

bool stands_for_itself(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == '~' || c == '/';
}

bool is_readable(const file_policy& policy, const file_entry& entry)
{
    if (entry.type != "file" || *entry.size > policy.max_size()) return false;
    if (valid_utf8_length(entry.path) != entry.path.size()) return false;
    try {
        policy.check_extension("path", entry.path);
        return true;
    } catch (const file_error&) {
        return false;
    }
}

json::object describe(const file_entry& entry)
{
    json::object made;
    made["uri"] = workspace_resources::uri_of(entry.path);
    made["name"] = entry.path;
    made["mimeType"] = media_type_of(entry.path, "application/octet-stream");
    made["size"] = *entry.size;
    return made;
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
    constexpr char digits[] = "0123456789ABCDEF";
    std::string uri(scheme);
    for (char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        if (stands_for_itself(c))
            uri += c;
        else
            uri += {'%', digits[byte >> 4], digits[byte & 15]};
    }
    return uri;
}

std::optional<std::string> workspace_resources::path_of(std::string_view uri)
{
    if (!uri.starts_with(scheme) || uri.size() == scheme.size()) return std::nullopt;
    return decoded_uri_part(uri.substr(scheme.size()));
}

json::array workspace_resources::templates() const
{
    return one_template(std::string(scheme) + "{+path}", "workspace file", "File of the workspace",
                        "A file by its path relative to the workspace, as file_list gives it.");
}

awaitable<json::array> workspace_resources::list(const caller& who)
{
    json::array all;
    file_list_request what;
    what.recursive = true;
    do {
        file_page page = co_await files_.list(who, what);
        for (const auto& entry : page.entries)
            if (all.size() < most_listed && is_readable(files_.policy(), entry)) all.push_back(describe(entry));
        what.cursor = std::move(page.next_cursor);
    } while (!what.cursor.empty() && all.size() < most_listed);
    co_return all;
}

awaitable<std::optional<json::object>> workspace_resources::contents(caller who, std::string path, std::string encoding)
{
    file_read_request what;
    what.path = std::move(path);
    what.encoding = std::move(encoding);
    const bool text = what.encoding == "utf-8";
    json::object made;
    made["mimeType"] = media_type_of(what.path, text ? "text/plain" : "application/octet-stream");
    try {
        file_content read = co_await files_.read(std::move(who), std::move(what));
        made[text ? "text" : "blob"] = std::move(read.content);
    } catch (const file_not_text&) {
        co_return std::nullopt;
    }
    co_return made;
}

awaitable<std::optional<json::object>> workspace_resources::text_or_bytes(caller who, std::string path)
{
    auto found = co_await contents(who, path, "utf-8");
    if (!found) found = co_await contents(who, path, "base64");
    co_return found;
}

awaitable<std::optional<json::array>> workspace_resources::read(const caller& who, std::string uri)
{
    auto path = path_of(uri);
    if (!path) co_return std::nullopt;
    auto work = text_or_bytes(who, std::move(*path));
    auto found = co_await contents_of(std::move(work), std::move(uri));
    co_return found;
}

std::shared_ptr<void> workspace_resources::observe(const caller& who, const std::string& uri,
                                                   std::function<void()> changed)
{
    const auto path = path_of(uri);
    return path ? observe_file(watch_, files_.folder(who), *path, std::move(changed)) : nullptr;
}

}  // namespace cmcp
