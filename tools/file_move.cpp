#include "tools/file_move.hpp"

#include "files/file_error.hpp"
#include "tools/file_arguments.hpp"
#include "tools/schema.hpp"

namespace cmcp {

namespace {

tool_definition file_move_definition()
{
    tool_definition made;
    made.name = "file_move";
    made.title = "Move or rename a file";
    made.description =
        "Moves or renames a file or a folder within the workspace; missing folders are made. An existing "
        "destination is refused unless overwrite is set, which replaces a file.";
    made.input_schema =
        schema::input({{"source", schema::string("Path of what to move, relative to the workspace.")},
                       {"destination", schema::string("Its new path (with its new name), relative to the workspace.")},
                       {"overwrite", schema::boolean("Whether an existing file may be replaced.", false)}},
                      {"source", "destination"});
    made.output_schema = schema::output({{"success", schema::boolean("Whether it worked.")},
                                         {"source", schema::string("The old path.")},
                                         {"destination", schema::string("The new path.")},
                                         {"error", schema::string("What went wrong and what to do.")}},
                                        {"success"});
    made.annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false};
    return made;
}

}  // namespace

file_move::file_move(file_manager& files) : files_(files), definition_(file_move_definition()) {}

awaitable<tool_result> file_move::call(tool_context& context, json::object arguments)
{
    file_move_request what;
    what.source = file_arguments::text(arguments, "source");
    what.destination = file_arguments::text(arguments, "destination");
    what.overwrite = file_arguments::flag(arguments, "overwrite");
    json::object made;
    made["source"] = what.source;
    made["destination"] = what.destination;
    try {
        co_await files_.move(context.who, std::move(what));
        co_return file_arguments::success(std::move(made));
    } catch (const file_error& problem) {
        co_return file_arguments::failure(problem);
    }
}

}  // namespace cmcp
