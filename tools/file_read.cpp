#include "files/file_manager.hpp"
#include "tools/described_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

constexpr std::int64_t highest_offset = std::int64_t{1} << 53;  // exact in every JSON reader

awaitable<tool_result> process_file_read(file_manager& files, tool_context& context, file_read_request request)
{
    auto content = co_await files.read(context.who, std::move(request));
    tool_result result;
    result.structured["content"] = content.content;
    result.structured["size"] = content.size;
    result.structured["modified"] = content.modified;
    if (content.next_offset) {
        result.structured["truncated"] = true;
        result.structured["next_offset"] = *content.next_offset;
    }
    result.structured["success"] = true;
    co_return result;
}

json::object file_read_output()
{
    return schema::output({{"content", schema::string("The text, or base64.")},
                           {"size", schema::integer("Bytes of the whole file.", 0, highest_offset)},
                           {"modified", schema::number("Last change, in seconds since 1970.", -1e18, 1e18)},
                           {"success", schema::boolean("Whether it worked.")},
                           {"truncated", schema::boolean("Whether there is more.")},
                           {"next_offset", schema::integer("Where to go on.", 0, highest_offset)},
                           {"error", schema::string("What went wrong and what to do.")}},
                          {"success"});
}

}  // namespace

tool_owner make_file_read(file_manager& files)
{
    using input = file_read_request;
    return make_tool<input>(
        {.about = {.name = "file_read",
                   .title = "Read a file",
                   .description = "Reads a file of the workspace. Text is read as UTF-8 unless another encoding is "
                                  "named; encoding base64 gives any bytes. Large files are read in parts: while the "
                                  "result holds next_offset, call again with it as offset.",
                   .output_schema = file_read_output(),
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
         .input = {{"path", &input::path, "Path of the file, relative to the workspace.", rule::required},
                   {"encoding", &input::encoding, "utf-8, base64 (any bytes), latin-1, utf-16, …", rule::with_default},
                   {"offset", &input::offset, "First byte to read.", rule::between(0, highest_offset)},
                   {"limit", &input::limit, "Most bytes to read; text ends with a whole character.",
                    rule::between(1, highest_offset)}},
         .process = std::bind_front(process_file_read, std::ref(files)),
         .refuse = file_refusal});
}

}  // namespace cmcp
