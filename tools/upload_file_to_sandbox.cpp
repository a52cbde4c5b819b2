#include "sandboxes/sandbox_files.hpp"
#include "text/base64.hpp"
#include "tools/sandbox_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

struct upload_input : sandbox_input {
    std::string local_file_path;
    std::optional<std::string> content;
    std::string dest_path;
};

[[noreturn]] void refuse(const std::string& sentence) { throw sandbox_error("InvalidArgument", sentence); }

awaitable<stored_file> store_upload(sandbox_files& files, sandbox_record where, upload_input input)
{
    if (input.content.has_value() == !input.local_file_path.empty())
        refuse("Give either content (base64) or local_file_path.");
    if (input.dest_path.empty() && input.content) refuse("dest_path must name the file that content becomes.");
    if (input.dest_path.empty()) input.dest_path = ".";
    stored_file stored;
    if (input.content) {
        auto bytes = base64_decode(*input.content);
        if (!bytes) refuse("content must be base64 with padding (RFC 4648 section 4).");
        stored = co_await files.put(std::move(where), std::move(input.dest_path), std::move(*bytes));
    } else {
        stored = co_await files.copy_in(std::move(where), std::move(input.dest_path), std::move(input.local_file_path));
    }
    co_return stored;
}

awaitable<tool_result> process_upload(sandbox_files& files, sandbox_manager& sandboxes, tool_context& context,
                                      upload_input input)
{
    const auto where = sandboxes.find(context.who, input.sandbox_id);
    const auto stored = co_await store_upload(files, where, std::move(input));
    tool_result result;
    result.structured["success"] = true;
    result.structured["path"] = stored.path;
    result.structured["size"] = stored.size;
    result.structured["file_link"] = sandboxes.link_to(where, stored.path);
    co_return result;
}

json::object upload_output()
{
    return schema::output({{"success", schema::boolean("Whether it worked")},
                           {"path", schema::string("Path of the file, relative to the working folder")},
                           {"size", schema::typed("integer", "Bytes")},
                           {"file_link", schema::string("Where to download it")},
                           {"error", schema::string("What went wrong and what to do")}},
                          {"success", "path", "size"});
}

}  // namespace

tool_owner make_upload_file_to_sandbox(sandbox_files& files, sandbox_manager& sandboxes)
{
    using input = upload_input;
    return make_tool<input>(
        {.about = {.name = "upload_file_to_sandbox",
                   .title = "Upload a file to a sandbox",
                   .description = "Put a file into a sandbox of yours: bytes as base64 in content, or a file of the "
                                  "server's upload folder by local_file_path. The file appears complete or not at all, "
                                  "and replaces one of that name. Large files: POST /sandbox/file streams.",
                   .output_schema = upload_output(),
                   .annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false}},
         .input = {sandbox_id_field(),
                   {"local_file_path", &input::local_file_path,
                    "File on the server, in the folder that SANDBOX_UPLOAD_FOLDER names"},
                   {"content", &input::content, "The bytes as base64"},
                   {"dest_path", &input::dest_path,
                    "Where to, relative to the working folder; needed with content. A local file keeps its name in a "
                    "folder (\"sub/\")"}},
         .process = std::bind_front(process_upload, std::ref(files), std::ref(sandboxes))});
}

}  // namespace cmcp
