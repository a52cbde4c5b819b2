#include "sandboxes/sandbox_files.hpp"
#include "text/utf8_text.hpp"
#include "tools/sandbox_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

struct sandbox_list_input : sandbox_input, file_list_request {
    sandbox_list_input() { path = "."; }
};

json::object row_of(const file_entry& entry)
{
    json::object row;
    row["name"] = escape_invalid_utf8(entry.name);
    row["path"] = escape_invalid_utf8(entry.path);
    row["is_directory"] = entry.type == "directory";
    row["size"] = nullptr;
    if (entry.size) row["size"] = *entry.size;
    row["modified"] = entry.modified;
    return row;
}

awaitable<tool_result> process_list_files(sandbox_files& files, sandbox_manager& sandboxes, tool_context& context,
                                          sandbox_list_input input)
{
    auto where = sandboxes.find(context.who, input.sandbox_id);
    file_list_request request = std::move(input);
    const auto page = co_await files.list(std::move(where), std::move(request));
    tool_result result;
    result.structured["success"] = true;
    json::array& rows = result.structured["entries"].emplace_array();
    for (const auto& entry : page.entries) rows.push_back(row_of(entry));
    if (!page.next_cursor.empty()) result.structured["next_cursor"] = page.next_cursor;
    co_return result;
}

json::object sandbox_list_output()
{
    auto entry = schema::object("",
                                {{"name", schema::string("")},
                                 {"path", schema::string("")},
                                 {"is_directory", schema::boolean("")},
                                 {"size", schema::any("Bytes; null for folders")},
                                 {"modified", schema::typed("number", "")}},
                                {"name", "path", "is_directory", "size", "modified"});
    return schema::output({{"success", schema::boolean("Whether it worked")},
                           {"entries", schema::array("Sorted by path", std::move(entry))},
                           {"next_cursor", schema::string("For the next page")},
                           {"error", schema::string("What went wrong and what to do")}},
                          {"success", "entries"});
}

}  // namespace

tool_owner make_list_sandbox_files(sandbox_files& files, sandbox_manager& sandboxes)
{
    using input = sandbox_list_input;
    return make_tool<input>(
        {.about = {.name = "list_sandbox_files",
                   .title = "List the files of a sandbox",
                   .description = "What is in a folder of a sandbox of yours. While the result holds next_cursor, call "
                                  "again with it as cursor.",
                   .output_schema = sandbox_list_output(),
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
         .input = {sandbox_id_field(),
                   {"path", &input::path, "Folder, relative to the working folder", rule::with_default},
                   {"pattern", &input::pattern, "Glob such as *.csv or **/*.py"},
                   {"recursive", &input::recursive, "Whether to list what is in the folders below too",
                    rule::with_default},
                   {"cursor", &input::cursor, "next_cursor of the page before"}},
         .process = std::bind_front(process_list_files, std::ref(files), std::ref(sandboxes))});
}

}  // namespace cmcp
