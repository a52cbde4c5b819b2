#include "text/base64.hpp"
#include "tools/sandbox_tool.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"

#include "sandboxes/sandbox_files.hpp"

namespace cmcp {

namespace {

tool_definition upload_file_to_sandbox_definition()
{
    tool_definition made;
    made.name = "upload_file_to_sandbox";
    made.title = "Upload a file to a sandbox";
    made.description =
        "Put a file into a sandbox of yours: bytes as base64 in content, or a file of the server's upload folder by "
        "local_file_path. "
        "The file appears complete or not at all, and replaces one of that name. Large files: POST /sandbox/file "
        "streams.";
    made.input_schema = schema::input(
        {{"sandbox_id", sandbox_id_schema()},
         {"local_file_path", schema::string("File on the server, in the folder that SANDBOX_UPLOAD_FOLDER names")},
         {"content", schema::string("The bytes as base64")},
         {"dest_path",
          schema::string(
              "Where to, relative to the working folder; needed with content. A local file keeps its name in "
              "a folder (\"sub/\")")}},
        {"sandbox_id"});
    made.output_schema = schema::output({{"success", schema::boolean("Whether it worked")},
                                         {"path", schema::string("Path of the file, relative to the working folder")},
                                         {"size", json::object{{"type", "integer"}, {"description", "Bytes"}}},
                                         {"file_link", schema::string("Where to download it")},
                                         {"error", schema::string("What went wrong and what to do")}},
                                        {"success", "path", "size"});
    made.annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false};
    return made;
}

[[noreturn]] void refuse(const std::string& sentence) { throw sandbox_error("InvalidArgument", sentence); }

std::string bytes_of(const json::object& arguments)
{
    auto bytes = base64_decode(read_string(arguments, "content"));
    if (!bytes) refuse("content must be base64 with padding (RFC 4648 section 4).");
    return std::move(*bytes);
}

class upload_file_to_sandbox final : public sandbox_tool {
public:
    explicit upload_file_to_sandbox(managers& all) : sandbox_tool(upload_file_to_sandbox_definition()), all_(all) {}

private:
    awaitable<tool_result> act(tool_context& context, json::object arguments) override
    {
        auto where = all_.sandboxes->find(context.who, read_string(arguments, "sandbox_id"));
        const auto local = read_string(arguments, "local_file_path");
        const bool given = arguments.contains("content");
        auto path = read_string(arguments, "dest_path");
        if (given == !local.empty()) refuse("Give either content (base64) or local_file_path.");
        if (path.empty() && given) refuse("dest_path must name the file that content becomes.");
        if (path.empty()) path = ".";
        stored_file stored;
        std::string bytes;
        if (given) {
            bytes = bytes_of(arguments);
            stored = co_await all_.sandbox_files_->put(where, path, std::move(bytes));
        } else {
            stored = co_await all_.sandbox_files_->copy_in(where, path, local);
        }
        tool_result made;
        made.structured["success"] = true;
        made.structured["path"] = stored.path;
        made.structured["size"] = stored.size;
        made.structured["file_link"] = all_.sandboxes->link_to(where, stored.path);
        co_return made;
    }

    managers& all_;
};

}  // namespace

std::unique_ptr<tool> make_upload_file_to_sandbox(managers& all)
{
    return std::make_unique<upload_file_to_sandbox>(all);
}

}  // namespace cmcp
