#include "tools/file_read.hpp"

#include "files/file_error.hpp"
#include "tools/file_arguments.hpp"
#include "tools/schema.hpp"

namespace cmcp {

namespace {

constexpr std::int64_t max_offset = std::int64_t{1} << 53;  // exact in every JSON reader

tool_definition file_read_definition()
{
    tool_definition made;
    made.name = "file_read";
    made.title = "Read a file";
    made.description =
        "Reads a file of the workspace. Text is read as UTF-8 unless another encoding is named; encoding base64 "
        "gives any bytes. Large files are read in parts: while the result holds next_offset, call again with it "
        "as offset.";
    made.input_schema = schema::input(
        {{"path", schema::string("Path of the file, relative to the workspace.")},
         {"encoding", schema::string("utf-8, base64 (any bytes), latin-1, utf-16, …", "utf-8")},
         {"offset", schema::integer("First byte to read.", 0, max_offset)},
         {"limit", schema::integer("Most bytes to read; text ends with a whole character.", 1, max_offset)}},
        {"path"});
    made.output_schema =
        schema::output({{"content", schema::string("The text, or base64.")},
                        {"size", schema::integer("Bytes of the whole file.", 0, max_offset)},
                        {"modified", schema::number("Last change, in seconds since 1970.", -1e18, 1e18)},
                        {"success", schema::boolean("Whether it worked.")},
                        {"truncated", schema::boolean("Whether there is more.")},
                        {"next_offset", schema::integer("Where to go on.", 0, max_offset)},
                        {"error", schema::string("What went wrong and what to do.")}},
                       {"success"});
    made.annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
    return made;
}

json::object to_json(file_content content)
{
    json::object made;
    made["content"] = std::move(content.content);
    made["size"] = content.size;
    made["modified"] = content.modified;
    if (!content.next_offset) return made;
    made["truncated"] = true;
    made["next_offset"] = *content.next_offset;
    return made;
}

}  // namespace

file_read::file_read(file_manager& files) : files_(files), definition_(file_read_definition()) {}

awaitable<tool_result> file_read::call(tool_context& context, json::object arguments)
{
    file_read_request what;
    what.path = file_arguments::text(arguments, "path");
    what.encoding = file_arguments::text(arguments, "encoding", "utf-8");
    what.offset = file_arguments::count(arguments, "offset").value_or(0);
    what.limit = file_arguments::count(arguments, "limit");
    try {
        file_content content = co_await files_.read(context.who, std::move(what));
        co_return file_arguments::success(to_json(std::move(content)));
    } catch (const file_error& problem) {
        co_return file_arguments::failure(problem);
    }
}

}  // namespace cmcp
