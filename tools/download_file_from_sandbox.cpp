#include "sandboxes/sandbox_files.hpp"
#include "text/base64.hpp"
#include "text/utf8_text.hpp"
#include "tools/sandbox_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

struct download_input : sandbox_input {
    std::string file_path;
    std::string encoding;  // empty: text where the bytes are text
    std::uint64_t offset = 0;
    std::size_t limit = 256 << 10;
};

// Of a part of a text the last character may be cut: it belongs to the next part.
std::size_t text_length(std::string_view bytes, bool cut)
{
    const auto valid = valid_utf8_length(bytes);
    return cut && bytes.size() - valid < 4 ? valid : valid == bytes.size() ? valid : 0;
}

awaitable<tool_result> process_download(sandbox_files& files, sandbox_manager& sandboxes, tool_context& context,
                                        download_input input)
{
    const auto where = sandboxes.find(context.who, input.sandbox_id);
    const auto file = co_await files.download(where, input.file_path);
    std::string bytes = co_await file->read(input.offset, input.limit);
    const bool cut = input.offset + bytes.size() < file->size();
    const auto text = text_length(bytes, cut);
    const bool is_text = input.encoding != "base64" && (text != 0 || bytes.empty());
    if (input.encoding == "utf-8" && !is_text)
        throw sandbox_error("InvalidArgument", "The file is no UTF-8 text here; read it with encoding base64.");
    if (is_text) bytes.resize(text);
    const auto next_offset = input.offset + bytes.size();
    tool_result result;
    result.structured["success"] = true;
    if (next_offset < file->size()) result.structured["next_offset"] = static_cast<std::int64_t>(next_offset);
    result.structured["content"] = is_text ? bytes : base64_encode(bytes);
    result.structured["encoding"] = is_text ? "utf-8" : "base64";
    result.structured["size"] = file->size();
    result.structured["file_link"] = sandboxes.link_to(where, files.relative("file_path", input.file_path));
    co_return result;
}

json::object download_output()
{
    return schema::output(
        {{"success", schema::boolean("Whether it worked")},
         {"content", schema::string("The text, or the bytes as base64")},
         {"encoding", schema::one_of("What content is", {"utf-8", "base64"})},
         {"size", schema::typed("integer", "Bytes of the whole file")},
         {"next_offset", schema::typed("integer", "Where to go on when content ends before the file")},
         {"file_link", schema::string("Where to download the file")},
         {"error", schema::string("What went wrong and what to do")}},
        {"success", "content", "encoding", "size"});
}

}  // namespace

tool_owner make_download_file_from_sandbox(sandbox_files& files, sandbox_manager& sandboxes)
{
    using input = download_input;
    return make_tool<input>(
        {.about = {.name = "download_file_from_sandbox",
                   .title = "Read a file of a sandbox",
                   .description = "Read a file of a sandbox of yours, as text or base64, whole or a part. Large files: "
                                  "download file_link (GET /sandbox/file).",
                   .output_schema = download_output(),
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
         .input = {sandbox_id_field(),
                   {"file_path", &input::file_path,
                    "Path of the file, relative to the working folder or beginning with it", rule::required},
                   {"encoding", &input::encoding,
                    "utf-8 for text, base64 for any bytes; text when left out, unless the bytes are none",
                    rule::one_of({"utf-8", "base64"})},
                   {"offset", &input::offset, "First byte", rule::between(0, std::int64_t{1} << 60)},
                   {"limit", &input::limit, "Most bytes; 262144 when left out", rule::between(1, 4 << 20)}},
         .process = std::bind_front(process_download, std::ref(files), std::ref(sandboxes))});
}

}  // namespace cmcp
