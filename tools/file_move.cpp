#include "files/file_manager.hpp"
#include "tools/described_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

awaitable<tool_result> process_file_move(file_manager& files, tool_context& context, file_move_request request)
{
    tool_result result;
    result.structured["source"] = request.source;
    result.structured["destination"] = request.destination;
    co_await files.move(context.who, std::move(request));
    result.structured["success"] = true;
    co_return result;
}

}  // namespace

tool_owner make_file_move(file_manager& files)
{
    using input = file_move_request;
    return make_tool<input>(
        {.about = {.name = "file_move",
                   .title = "Move or rename a file",
                   .description = "Moves or renames a file or a folder within the workspace; missing folders are made. "
                                  "An existing destination is refused unless overwrite is set, which replaces a file.",
                   .output_schema = schema::output({{"success", schema::boolean("Whether it worked.")},
                                                    {"source", schema::string("The old path.")},
                                                    {"destination", schema::string("The new path.")},
                                                    {"error", schema::string("What went wrong and what to do.")}},
                                                   {"success"}),
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false}},
         .input = {{"source", &input::source, "Path of what to move, relative to the workspace.", rule::required},
                   {"destination", &input::destination, "Its new path (with its new name), relative to the workspace.",
                    rule::required},
                   {"overwrite", &input::overwrite, "Whether an existing file may be replaced.", rule::with_default}},
         .process = std::bind_front(process_file_move, std::ref(files)),
         .refuse = file_refusal});
}

}  // namespace cmcp
