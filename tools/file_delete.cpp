#include "files/file_manager.hpp"
#include "tools/described_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

struct file_delete_input {
    std::string path;
};

awaitable<tool_result> process_file_delete(file_manager& files, tool_context& context, file_delete_input input)
{
    co_await files.remove(context.who, input.path);
    tool_result result;
    result.structured["path"] = input.path;
    result.structured["success"] = true;
    co_return result;
}

}  // namespace

tool_owner make_file_delete(file_manager& files)
{
    return make_tool<file_delete_input>(
        {.about = {.name = "file_delete",
                   .title = "Delete a file",
                   .description = "Deletes a file of the workspace. Of a symbolic link the link is deleted, not what "
                                  "it points to; folders are refused.",
                   .output_schema = schema::output({{"success", schema::boolean("Whether it worked.")},
                                                    {"path", schema::string("The path of the file.")},
                                                    {"error", schema::string("What went wrong and what to do.")}},
                                                   {"success"}),
                   .annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false}},
         .input = {{"path", &file_delete_input::path, "Path of the file, relative to the workspace.", rule::required}},
         .process = std::bind_front(process_file_delete, std::ref(files)),
         .refuse = file_refusal});
}

}  // namespace cmcp
