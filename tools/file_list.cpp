#include "files/file_manager.hpp"
#include "text/base64.hpp"
#include "text/utf8_text.hpp"
#include "tools/described_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

json::object file_list_output()
{
    auto entry = schema::object(
        "",
        {{"name", schema::string("The name; bytes that are no UTF-8 are written as \\xFF.")},
         {"path", schema::string("The path, as the other file tools take it.")},
         {"is_directory", schema::boolean("Whether it is a folder; a symbolic link never is.")},
         {"size", schema::any("Bytes; null for folders.")},
         {"modified", schema::number("Last change, in seconds since 1970.", -1e18, 1e18)},
         {"type", schema::one_of("What it is.", {"file", "directory", "symlink", "fifo", "socket", "device"})},
         {"name_base64", schema::string("The exact name, where it is no UTF-8.")}},
        {"name", "path", "is_directory", "size", "modified"});
    return schema::output({{"entries", schema::array("Sorted by path.", std::move(entry))},
                           {"path", schema::string("The folder that was asked for.")},
                           {"success", schema::boolean("Whether it worked.")},
                           {"truncated", schema::boolean("Whether entries are missing here.")},
                           {"next_cursor", schema::string("For the next page.")},
                           {"note", schema::string("Why entries are missing that no further page has.")},
                           {"error", schema::string("What went wrong and what to do.")}},
                          {"success"});
}

json::object entry_json(const file_entry& entry)
{
    json::object shown;
    shown["name"] = escape_invalid_utf8(entry.name);
    shown["path"] = escape_invalid_utf8(entry.path);
    shown["is_directory"] = entry.type == "directory";
    shown["size"] = nullptr;
    if (entry.size) shown["size"] = *entry.size;
    shown["modified"] = entry.modified;
    shown["type"] = entry.type;
    if (valid_utf8_length(entry.name) != entry.name.size()) shown["name_base64"] = base64_encode(entry.name);
    return shown;
}

json::object page_json(const file_page& page)
{
    json::object shown;
    json::array& entries = shown["entries"].emplace_array();
    for (const auto& entry : page.entries) entries.push_back(entry_json(entry));
    if (!page.next_cursor.empty()) shown["next_cursor"] = page.next_cursor;
    if (page.count_limited) shown["note"] = "There are too many entries; list a folder below, or use a pattern.";
    if (page.depth_limited) shown["note"] = "Folders more than 64 levels down were left out; list them by their path.";
    if (!page.next_cursor.empty() || page.count_limited || page.depth_limited) shown["truncated"] = true;
    return shown;
}

awaitable<tool_result> process_file_list(file_manager& files, tool_context& context, file_list_request request)
{
    const std::string path = request.path;
    const auto page = co_await files.list(context.who, std::move(request));
    tool_result result;
    result.structured = page_json(page);
    result.structured["path"] = path;
    result.structured["success"] = true;
    co_return result;
}

}  // namespace

tool_owner make_file_list(file_manager& files)
{
    using input = file_list_request;
    return make_tool<input>(
        {.about = {.name = "file_list",
                   .title = "List files",
                   .description = "Lists a folder of the workspace, sorted by name. Symbolic links are shown and not "
                                  "followed. A long list comes in pages: while the result holds next_cursor, call "
                                  "again with it as cursor.",
                   .output_schema = file_list_output(),
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
         .input = {{"path", &input::path, "Path of the folder, relative to the workspace.", rule::with_default},
                   {"pattern", &input::pattern,
                    "Glob: * ? [a-z] match within a name. With / or ** it is matched against the path below the "
                    "folder, at any depth: **/*.py"},
                   {"recursive", &input::recursive, "Whether to list what is in the folders below too.",
                    rule::with_default},
                   {"limit", &input::limit, "Most entries of one page; 1000 when it is not given.",
                    rule::between(1, 10'000)},
                   {"cursor", &input::cursor, "next_cursor of the page before."}},
         .process = std::bind_front(process_file_list, std::ref(files)),
         .refuse = file_refusal});
}

}  // namespace cmcp
