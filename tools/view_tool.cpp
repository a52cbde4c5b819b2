#include "files/file_error.hpp"
#include "files/file_manager.hpp"
#include "runs/file_viewer.hpp"
#include "sandboxes/sandbox_files.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/tools.hpp"

namespace cmcp {
namespace {

struct view_input : sandbox_input {
    std::string path;
    std::size_t page = 1;
};

awaitable<std::string> bytes_in_sandbox(files_of_sandboxes inside, caller who, view_input input, std::uint64_t most)
{
    if (inside.files == nullptr)
        throw sandbox_error("NotAvailable", "There are no sandboxes here: TOOLS_ENABLE_SANDBOX is false.");
    auto where = inside.sandboxes->find(who, input.sandbox_id);
    const auto file = co_await inside.files->download(std::move(where), input.path);
    if (file->size() > most) throw file_error("path: the file is larger than FILE_MAX_SIZE_MB allows.");
    auto bytes = co_await file->read(0, file->size());
    co_return bytes;
}

awaitable<tool_result> process_view(file_viewer& viewer, file_manager& files, files_of_sandboxes inside,
                                    tool_context& context, view_input input)
{
    auto reading = input.sandbox_id.empty() ? files.bytes(context.who, input.path)
                                            : bytes_in_sandbox(inside, context.who, input, files.policy().max_size());
    auto bytes = co_await std::move(reading);
    auto view = co_await viewer.view(context.who.principal, input.path, std::move(bytes), input.page);
    tool_result result;
    result.structured["success"] = true;
    result.structured["path"] = input.path;
    result.structured["about"] = view.about;
    if (!view.table.empty()) result.structured["content"] = view.table;
    if (view.pages > 1) result.structured["pages"] = view.pages;
    if (view.image)
        result.content.push_back(
            json::object{{"type", "image"}, {"data", view.image->base64}, {"mimeType", view.image->media_type}});
    co_return result;
}

}  // namespace

tool_owner make_view_file(file_viewer& viewer, file_manager& files, files_of_sandboxes inside)
{
    using input = view_input;
    return make_tool<input>(
        {.about = {.name = "view_file",
                   .title = "Look at a file",
                   .description =
                       "See an image, a page of a PDF or rows of a table (csv, tsv, xlsx). Other files: file_read.",
                   .output_schema = schema::output(
                       {{"success", schema::boolean("Whether it can be shown")},
                        {"path", schema::string("Path of the file")},
                        {"about", schema::string("Its size, and what part of it is shown")},
                        {"content", schema::string("Rows of a table, as Markdown")},
                        {"pages", schema::typed("integer", "Pages that there are")},
                        {"images",
                         schema::array("Over REST: the image. Over MCP it is image content", schema::object("", {}))},
                        {"error", schema::string("What went wrong and what to do")}},
                       {"success", "path", "about"}),
                   .may_show_images = true,
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
         .input = {{"path", &input::path, "", rule::required, rule::example("plot.png")},
                   sandbox_id_field("Without it the workspace"),
                   {"page", &input::page, "Of a PDF, or of 50 rows", rule::between(1, 100'000), rule::with_default}},
         .process = std::bind_front(process_view, std::ref(viewer), std::ref(files), inside),
         .refuse = file_refusal});
}

}  // namespace cmcp
