#include "sandboxes/sandbox_files.hpp"
#include "text/base64.hpp"
#include "text/utf8_text.hpp"
#include "tools/sandbox_tool.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"

#include <algorithm>

namespace cmcp {

namespace {

constexpr std::int64_t most_bytes = 4 << 20;
constexpr std::int64_t usual_bytes = 256 << 10;

tool_definition download_file_from_sandbox_definition()
{
    tool_definition made;
    made.name = "download_file_from_sandbox";
    made.title = "Read a file of a sandbox";
    made.description =
        "Read a file of a sandbox of yours, as text or base64, whole or a part. Large files: download file_link (GET "
        "/sandbox/file).";
    made.input_schema = schema::input(
        {{"sandbox_id", sandbox_id_schema()},
         {"file_path", schema::string("Path of the file, relative to the working folder or beginning with it")},
         {"encoding",
          schema::one_of("utf-8 for text, base64 for any bytes; text when left out, unless the bytes are none",
                         {"utf-8", "base64"})},
         {"offset", schema::integer("First byte", 0, std::int64_t{1} << 60)},
         {"limit", schema::integer("Most bytes; 262144 when left out", 1, most_bytes)}},
        {"sandbox_id", "file_path"});
    made.output_schema = schema::output(
        {{"success", schema::boolean("Whether it worked")},
         {"content", schema::string("The text, or the bytes as base64")},
         {"encoding", schema::one_of("What content is", {"utf-8", "base64"})},
         {"size", json::object{{"type", "integer"}, {"description", "Bytes of the whole file"}}},
         {"next_offset",
          json::object{{"type", "integer"}, {"description", "Where to go on when content ends before the file"}}},
         {"file_link", schema::string("Where to download the file")},
         {"error", schema::string("What went wrong and what to do")}},
        {"success", "content", "encoding", "size"});
    made.annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
    return made;
}

std::int64_t number(const json::object& arguments, std::string_view name, std::int64_t otherwise)
{
    const auto* found = arguments.if_contains(name);
    return found == nullptr ? otherwise : static_cast<std::int64_t>(found->to_number<double>());
}

// Of a part of a text the last character may be cut: it belongs to the next part.
std::size_t text_length(std::string_view bytes, bool cut)
{
    const auto valid = valid_utf8_length(bytes);
    return cut && bytes.size() - valid < 4 ? valid : valid == bytes.size() ? valid : 0;
}

class download_file_from_sandbox final : public sandbox_tool {
public:
    explicit download_file_from_sandbox(managers& all)
        : sandbox_tool(download_file_from_sandbox_definition()), all_(all)
    {
    }

private:
    awaitable<tool_result> act(tool_context& context, json::object arguments) override
    {
        const auto where = all_.sandboxes->find(context.who, read_string(arguments, "sandbox_id"));
        const auto path = read_string(arguments, "file_path");
        const auto file = co_await all_.sandbox_files_->download(where, path);
        const auto offset = static_cast<std::uint64_t>(number(arguments, "offset", 0));
        const auto most = static_cast<std::size_t>(number(arguments, "limit", usual_bytes));
        std::string bytes = co_await file->read(offset, most);
        const bool cut = offset + bytes.size() < file->size();
        const auto asked = read_string(arguments, "encoding");
        const auto text = text_length(bytes, cut);
        const bool is_text = asked != "base64" && (text != 0 || bytes.empty());
        if (asked == "utf-8" && !is_text)
            throw sandbox_error("InvalidArgument", "The file is no UTF-8 text here; read it with encoding base64.");
        if (is_text) bytes.resize(text);
        tool_result made;
        made.structured["success"] = true;
        if (offset + bytes.size() < file->size())
            made.structured["next_offset"] = static_cast<std::int64_t>(offset + bytes.size());
        made.structured["content"] = is_text ? bytes : base64_encode(bytes);
        made.structured["encoding"] = is_text ? "utf-8" : "base64";
        made.structured["size"] = file->size();
        made.structured["file_link"] = all_.sandboxes->link_to(where, all_.sandbox_files_->relative("file_path", path));
        co_return made;
    }

    managers& all_;
};

}  // namespace

std::unique_ptr<tool> make_download_file_from_sandbox(managers& all)
{
    return std::make_unique<download_file_from_sandbox>(all);
}

}  // namespace cmcp
