#include "tools/file_delete.hpp"

#include "files/file_error.hpp"
#include "tools/file_arguments.hpp"
#include "tools/schema.hpp"

namespace cmcp {

namespace {

tool_definition file_delete_definition()
{
    tool_definition made;
    made.name = "file_delete";
    made.title = "Delete a file";
    made.description =
        "Deletes a file of the workspace. Of a symbolic link the link is deleted, not what it points to; folders "
        "are refused.";
    made.input_schema =
        schema::input({{"path", schema::string("Path of the file, relative to the workspace.")}}, {"path"});
    made.output_schema = schema::output({{"success", schema::boolean("Whether it worked.")},
                                         {"path", schema::string("The path of the file.")},
                                         {"error", schema::string("What went wrong and what to do.")}},
                                        {"success"});
    made.annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false};
    return made;
}

}  // namespace

file_delete::file_delete(file_manager& files) : files_(files), definition_(file_delete_definition()) {}

awaitable<tool_result> file_delete::call(tool_context& context, json::object arguments)
{
    const std::string path = file_arguments::text(arguments, "path");
    json::object made;
    made["path"] = path;
    try {
        co_await files_.remove(context.who, path);
        co_return file_arguments::success(std::move(made));
    } catch (const file_error& problem) {
        co_return file_arguments::failure(problem);
    }
}

}  // namespace cmcp
