#include "tools/file_write.hpp"

#include "files/file_error.hpp"
#include "tools/file_arguments.hpp"
#include "tools/schema.hpp"

namespace cmcp {

namespace {

tool_definition file_write_definition()
{
    tool_definition made;
    made.name = "file_write";
    made.title = "Write a file";
    made.description =
        "Writes a file of the workspace, in one step: it is never seen half written. An existing file is "
        "replaced, missing folders are made. encoding base64 writes any bytes.";
    made.input_schema =
        schema::input({{"path", schema::string("Path of the file, relative to the workspace.")},
                       {"content", schema::string("The text, or base64.")},
                       {"encoding", schema::string("utf-8, base64 (any bytes), latin-1, utf-16, …", "utf-8")}},
                      {"path", "content"});
    made.output_schema = schema::output({{"success", schema::boolean("Whether it worked.")},
                                         {"path", schema::string("The path of the file.")},
                                         {"error", schema::string("What went wrong and what to do.")}},
                                        {"success"});
    made.annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false};
    return made;
}

}  // namespace

file_write::file_write(file_manager& files) : files_(files), definition_(file_write_definition()) {}

awaitable<tool_result> file_write::call(tool_context& context, json::object arguments)
{
    file_write_request what;
    what.path = file_arguments::text(arguments, "path");
    what.content = file_arguments::text(arguments, "content");
    what.encoding = file_arguments::text(arguments, "encoding", "utf-8");
    json::object made;
    made["path"] = what.path;
    try {
        co_await files_.write(context.who, std::move(what));
        co_return file_arguments::success(std::move(made));
    } catch (const file_error& problem) {
        co_return file_arguments::failure(problem);
    }
}

}  // namespace cmcp
