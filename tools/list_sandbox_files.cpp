#include "sandboxes/sandbox_files.hpp"
#include "text/utf8_text.hpp"
#include "tools/sandbox_tool.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"

namespace cmcp {

namespace {

tool_definition list_sandbox_files_definition()
{
    tool_definition made;
    made.name = "list_sandbox_files";
    made.title = "List the files of a sandbox";
    made.description =
        "What is in a folder of a sandbox of yours. While the result holds next_cursor, call again with it as cursor.";
    made.input_schema =
        schema::input({{"sandbox_id", sandbox_id_schema()},
                       {"path", schema::string("Folder, relative to the working folder", ".")},
                       {"pattern", schema::string("Glob such as *.csv or **/*.py")},
                       {"recursive", schema::boolean("Whether to list what is in the folders below too", false)},
                       {"cursor", schema::string("next_cursor of the page before")}},
                      {"sandbox_id"});
    made.output_schema = schema::output(
        {{"success", schema::boolean("Whether it worked")},
         {"entries",
          schema::array("Sorted by path", schema::object("",
                                                         {{"name", schema::string("")},
                                                          {"path", schema::string("")},
                                                          {"is_directory", schema::boolean("")},
                                                          {"size", schema::any("Bytes; null for folders")},
                                                          {"modified", json::object{{"type", "number"}}}},
                                                         {"name", "path", "is_directory", "size", "modified"}))},
         {"next_cursor", schema::string("For the next page")},
         {"error", schema::string("What went wrong and what to do")}},
        {"success", "entries"});
    made.annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
    return made;
}

json::object row_of(const file_entry& entry)
{
    json::object made;
    made["name"] = escape_invalid_utf8(entry.name);
    made["path"] = escape_invalid_utf8(entry.path);
    made["is_directory"] = entry.type == "directory";
    made["size"] = nullptr;
    if (entry.size) made["size"] = *entry.size;
    made["modified"] = entry.modified;
    return made;
}

class list_sandbox_files final : public sandbox_tool {
public:
    explicit list_sandbox_files(managers& all) : sandbox_tool(list_sandbox_files_definition()), all_(all) {}

private:
    awaitable<tool_result> act(tool_context& context, json::object arguments) override
    {
        auto where = all_.sandboxes->find(context.who, read_string(arguments, "sandbox_id"));
        file_list_request what;
        what.path = read_string(arguments, "path");
        what.pattern = read_string(arguments, "pattern");
        what.cursor = read_string(arguments, "cursor");
        const auto* recursive = arguments.if_contains("recursive");
        what.recursive = recursive != nullptr && recursive->as_bool();
        const auto page = co_await all_.sandbox_files_->list(std::move(where), std::move(what));
        tool_result made;
        made.structured["success"] = true;
        json::array& rows = made.structured["entries"].emplace_array();
        for (const auto& entry : page.entries) rows.push_back(row_of(entry));
        if (!page.next_cursor.empty()) made.structured["next_cursor"] = page.next_cursor;
        co_return made;
    }

    managers& all_;
};

}  // namespace

std::unique_ptr<tool> make_list_sandbox_files(managers& all) { return std::make_unique<list_sandbox_files>(all); }

}  // namespace cmcp
