#include "tools/file_list.hpp"

#include "files/file_error.hpp"
#include "text/base64.hpp"
#include "text/utf8_text.hpp"
#include "tools/file_arguments.hpp"
#include "tools/schema.hpp"

namespace cmcp {

namespace {

tool_definition file_list_definition()
{
    tool_definition made;
    made.name = "file_list";
    made.title = "List files";
    made.description =
        "Lists a folder of the workspace, sorted by name. Symbolic links are shown and not followed. A long list "
        "comes in pages: while the result holds next_cursor, call again with it as cursor.";
    made.input_schema = schema::input(
        {{"path", schema::string("Path of the folder, relative to the workspace.", "/")},
         {"pattern", schema::string("Glob: * ? [a-z] match within a name. With / or ** it is matched against the path "
                                    "below the folder, at any depth: **/*.py")},
         {"recursive", schema::boolean("Whether to list what is in the folders below too.", false)},
         {"limit", schema::integer("Most entries of one page; 1000 when it is not given.", 1, 10'000)},
         {"cursor", schema::string("next_cursor of the page before.")}});
    made.output_schema = schema::output(
        {{"entries",
          schema::array(
              "Sorted by path.",
              schema::object("",
                             {{"name", schema::string("The name; bytes that are no UTF-8 are written as \\xFF.")},
                              {"path", schema::string("The path, as the other file tools take it.")},
                              {"is_directory", schema::boolean("Whether it is a folder; a symbolic link never is.")},
                              {"size", schema::any("Bytes; null for folders.")},
                              {"modified", schema::number("Last change, in seconds since 1970.", -1e18, 1e18)},
                              {"type", schema::one_of("What it is.",
                                                      {"file", "directory", "symlink", "fifo", "socket", "device"})},
                              {"name_base64", schema::string("The exact name, where it is no UTF-8.")}},
                             {"name", "path", "is_directory", "size", "modified"}))},
         {"path", schema::string("The folder that was asked for.")},
         {"success", schema::boolean("Whether it worked.")},
         {"truncated", schema::boolean("Whether entries are missing here.")},
         {"next_cursor", schema::string("For the next page.")},
         {"note", schema::string("Why entries are missing that no further page has.")},
         {"error", schema::string("What went wrong and what to do.")}},
        {"success"});
    made.annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
    return made;
}

json::object entry_json(const file_entry& entry)
{
    json::object made;
    made["name"] = escape_invalid_utf8(entry.name);
    made["path"] = escape_invalid_utf8(entry.path);
    made["is_directory"] = entry.type == "directory";
    made["size"] = nullptr;
    if (entry.size) made["size"] = *entry.size;
    made["modified"] = entry.modified;
    made["type"] = entry.type;
    if (valid_utf8_length(entry.name) != entry.name.size()) made["name_base64"] = base64_encode(entry.name);
    return made;
}

json::object entry_json(const file_page& page)
{
    json::object made;
    json::array& entries = made["entries"].emplace_array();
    for (const auto& entry : page.entries) entries.push_back(entry_json(entry));
    if (!page.next_cursor.empty()) made["next_cursor"] = page.next_cursor;
    if (page.count_limited) made["note"] = "There are too many entries; list a folder below, or use a pattern.";
    if (page.depth_limited) made["note"] = "Folders more than 64 levels down were left out; list them by their path.";
    if (!page.next_cursor.empty() || page.count_limited || page.depth_limited) made["truncated"] = true;
    return made;
}

}  // namespace

file_list::file_list(file_manager& files) : files_(files), definition_(file_list_definition()) {}

awaitable<tool_result> file_list::call(tool_context& context, json::object arguments)
{
    file_list_request what;
    what.path = file_arguments::text(arguments, "path", "/");
    what.pattern = file_arguments::text(arguments, "pattern");
    what.recursive = file_arguments::flag(arguments, "recursive");
    what.limit = file_arguments::count(arguments, "limit").value_or(what.limit);
    what.cursor = file_arguments::text(arguments, "cursor");
    const std::string path = what.path;
    try {
        const file_page page = co_await files_.list(context.who, std::move(what));
        json::object made = entry_json(page);
        made["path"] = path;
        co_return file_arguments::success(std::move(made));
    } catch (const file_error& problem) {
        co_return file_arguments::failure(problem);
    }
}

}  // namespace cmcp
