#include "files/file_manager.hpp"
#include "tools/described_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

awaitable<tool_result> process_file_write(file_manager& files, tool_context& context, file_write_request request)
{
    tool_result result;
    result.structured["path"] = request.path;
    co_await files.write(context.who, std::move(request));
    result.structured["success"] = true;
    co_return result;
}

}  // namespace

tool_owner make_file_write(file_manager& files)
{
    using input = file_write_request;
    return make_tool<input>(
        {.about = {.name = "file_write",
                   .title = "Write a file",
                   .description = "Writes a file of the workspace, in one step: it is never seen half written. An "
                                  "existing file is replaced, missing folders are made. encoding base64 writes any "
                                  "bytes.",
                   .output_schema = schema::output({{"success", schema::boolean("Whether it worked.")},
                                                    {"path", schema::string("The path of the file.")},
                                                    {"error", schema::string("What went wrong and what to do.")}},
                                                   {"success"}),
                   .annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false}},
         .input = {{"path", &input::path, "Path of the file, relative to the workspace.", rule::required},
                   {"content", &input::content, "The text, or base64.", rule::required},
                   {"encoding", &input::encoding, "utf-8, base64 (any bytes), latin-1, utf-16, …", rule::with_default}},
         .process = std::bind_front(process_file_write, std::ref(files)),
         .refuse = file_refusal});
}

}  // namespace cmcp
