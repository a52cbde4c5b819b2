#include "runs/file_viewer.hpp"
#include "tools/file_access.hpp"

namespace cmcp {
namespace {

struct view_input : sandbox_input {
    std::string path;
    std::size_t page = 1;
};

awaitable<tool_result> process_view(file_viewer& viewer, file_access access, tool_context& context, view_input input)
{
    auto bytes = co_await access.bytes(context.who, input.sandbox_id, input.path);
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

tool_owner make_view_file(file_viewer& viewer, const file_access& access)
{
    using input = view_input;
    return make_tool<input>(
        {.about = {.name = "view_file",
                   .title = "Look at a file",
                   .description = "See an image, a page of a PDF or rows of a table (csv, tsv, xlsx).",
                   .output_schema = schema::output(
                       {{"success", schema::boolean("Whether it can be shown")},
                        {"path", schema::string("Path of the file")},
                        {"about", schema::string("Its size, and what part of it is shown")},
                        {"content", schema::string("Rows of a table, as Markdown")},
                        {"pages", schema::typed("integer", "Pages that there are")},
                        {"images",
                         schema::array("Over REST: the image. Over MCP it is image content", schema::object("", {}))}},
                       {"success", "path", "about"}),
                   .may_show_images = true,
                   .needs = scope::read,
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false},
                   .about = unnamed_subject::default_sandbox},
         .input = with_sandbox<input>(
             {{"path", &input::path, "", rule::required, rule::example("plot.png")},
              {"page", &input::page, "Of a PDF, or of 50 rows", rule::between(1, 100'000), rule::with_default}}),
         .process = std::bind_front(process_view, std::ref(viewer), access),
         .refuse = file_refusal});
}

}  // namespace cmcp
