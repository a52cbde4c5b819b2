#include "tools/sandbox_run.hpp"

#include "files/file_error.hpp"
#include "files/file_root.hpp"
#include "files/workspace_resources.hpp"
#include "jsonrpc/write_json.hpp"
#include "runs/missing_module.hpp"
#include "text/base64.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace cmcp {

namespace {

constexpr std::size_t most_images = 4;
constexpr std::uint64_t largest_image = 1 << 20;  // bytes; larger ones are links only
constexpr std::uint64_t all_images = 2 << 20;

bool is_image(std::string_view type)
{
    return type == "image/png" || type == "image/jpeg" || type == "image/gif" || type == "image/webp";
}

struct picture {
    std::string data;
    std::string type;
};

std::vector<picture> read_pictures(const std::filesystem::path& workspace, const std::vector<std::string>& files)
{
    std::vector<picture> pictures;
    std::uint64_t left = all_images;
    const file_root root(workspace);
    for (const auto& file : files) {
        const std::string type(media_type_of(file, ""));
        if (!is_image(type) || pictures.size() == most_images) continue;
        try {
            const auto opened = root.open_regular(file_path("file", file));
            struct stat status {};
            ::fstat(opened.get(), &status);
            const auto size = static_cast<std::uint64_t>(status.st_size);
            if (size == 0 || size > largest_image || size > left) continue;
            std::string bytes(size, '\0');
            if (::pread(opened.get(), bytes.data(), size, 0) != status.st_size) continue;
            pictures.push_back({base64_encode(bytes), type});
            left -= size;
        } catch (const file_error&) {
            // gone or replaced since the run: the link says so
        }
    }
    return pictures;
}

json::object block(std::string_view type)
{
    json::object content;
    content["type"] = type;
    return content;
}

}  // namespace

field<sandbox_code_input> stateful_field()
{
    return {"stateful", &sandbox_code_input::stateful,
            "Run in the sandbox's Python kernel, which keeps variables, imports and open figures for later stateful "
            "calls; restart_kernel and interrupt_kernel act on it",
            rule::with_default};
}

void add_sandbox_run_schema(json::object& schema)
{
    add_run_output_schema(schema);
    json::object& members = schema["properties"].as_object();
    members["files"] =
        schema::array("Files that the run made or changed, relative to the working folder", schema::string(""));
    members["file_links"] = schema::array("Where to download them, in the same order", schema::string(""));
    members["result"] = schema::any("With stateful: the value of the last expression");
    members["kernel"] = schema::string("With stateful: what became of the kernel, when it ended");
    members["hint"] = schema::string("What brings a Python module that was not there");
    members["error"] = schema::string("What went wrong and what to do");
    add_job_schema(schema);
}

tool_result sandbox_run_result(run_outcome run, std::string_view timeout_setting)
{
    std::string hint;
    if (run.end.exit_code != 0) hint = missing_module_hint(run.err, module_source::sandbox);
    return run_result(std::move(run), timeout_setting, std::move(hint));
}

void add_kernel_fields(tool_result& result, kernel_outcome& outcome)
{
    if (outcome.result) result.structured["result"] = std::move(*outcome.result);
    auto* error = result.structured.if_contains("error");
    if (outcome.note.empty() && error != nullptr)
        *error = std::string(error->as_string()) + " The kernel goes on; its variables stay.";
    if (outcome.note.empty()) return;
    result.is_error = true;
    result.structured["success"] = false;
    result.structured["kernel"] = outcome.note;
    result.structured["error"] = outcome.note;
}

awaitable<> add_files(tool_result& result, sandbox_manager& sandboxes, blocking_pool& pool, sandbox_record where,
                      std::vector<std::string> files)
{
    json::array names, links;
    for (const auto& file : files) {
        names.emplace_back(file);
        links.emplace_back(sandboxes.link_to(where, file));
    }
    result.structured["files"] = std::move(names);
    result.structured["file_links"] = std::move(links);
    if (files.empty()) co_return;
    auto work = [workspace = sandboxes.places().workspace(where.id), files] { return read_pictures(workspace, files); };
    const auto pictures = co_await pool.run(std::move(work));
    auto text = block("text");
    text["text"] = jsonrpc::write_json(result.structured);
    result.content.push_back(std::move(text));
    for (const auto& each : pictures) {
        auto image = block("image");
        image["data"] = each.data;
        image["mimeType"] = each.type;
        result.content.push_back(std::move(image));
    }
    for (const auto& file : files) {
        auto link = block("resource_link");
        link["uri"] = sandboxes.uri_of(where, file);
        link["name"] = file;
        link["mimeType"] = media_type_of(file, "application/octet-stream");
        result.content.push_back(std::move(link));
    }
}

}  // namespace cmcp
