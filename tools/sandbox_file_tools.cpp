#include "jsonrpc/json_size.hpp"
#include "mcp/tool_registry.hpp"
#include "sandboxes/sandbox_files.hpp"
#include "text/encodings.hpp"
#include "text/utf8_text.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/tools.hpp"

namespace cmcp {
namespace {

struct upload_input : sandbox_input {
    std::string local_file_path;
    std::optional<std::string> content;
    std::string dest_path;
};

[[noreturn]] void refuse(const std::string& sentence) { throw sandbox_error("InvalidArgument", sentence); }

decoded_content decoded_or_refused(const std::string& text)
{
    auto content = decode_content(text);
    if (!content.problem.empty()) refuse("content " + content.problem + "; text is written with file_write.");
    return content;
}

awaitable<stored_file> store_upload(sandbox_files& files, sandbox_record where, upload_input input, blocking_pool* pool)
{
    if (input.content && input.content->empty() && !input.local_file_path.empty()) input.content.reset();
    if (input.content.has_value() == !input.local_file_path.empty())
        refuse("Give either content (base64) or local_file_path.");
    if (input.dest_path.empty() && input.content) refuse("dest_path must name the file that content becomes.");
    if (input.dest_path.empty()) input.dest_path = ".";
    stored_file stored;
    if (input.content) {
        const auto size = input.content->size();
        auto decode = [text = std::make_shared<std::string>(std::move(*input.content))] {
            return decoded_or_refused(*text);
        };
        auto content = co_await by_size(pool, where.owner, size, std::move(decode));
        stored = co_await files.put(std::move(where), std::move(input.dest_path), std::move(content.bytes));
    } else {
        stored = co_await files.copy_in(std::move(where), std::move(input.dest_path), std::move(input.local_file_path));
    }
    co_return stored;
}

awaitable<tool_result> process_upload(sandbox_files& files, sandbox_manager& sandboxes, tool_context& context,
                                      upload_input input)
{
    const auto where = co_await sandboxes.use(context.who, input.sandbox_id);
    const auto stored = co_await store_upload(files, where, std::move(input), context.pool);
    co_return answer_of({{"success", true},
                         {"path", stored.path},
                         {"size", stored.size},
                         {"file_link", sandboxes.link_to(context.who, where, stored.path)}});
}

tool_owner make_upload_file_to_sandbox(sandbox_files& files, sandbox_manager& sandboxes)
{
    using input = upload_input;
    return make_tool<input>(
        {.about =
             {.name = "upload_file_to_sandbox",
              .title = "Upload a file to a sandbox",
              .description =
                  "Put a file into a sandbox: base64 in content, or local_file_path from the server. Text: file_write.",
              .output_schema =
                  schema::output({{"path", schema::string("Path of the file, relative to the working folder")},
                                  {"size", schema::typed("integer", "Bytes")},
                                  {"file_link", schema::string("Where to download it")}},
                                 {"success", "path", "size"}),
              .needs = scope::files,
              .annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false},
              .about = unnamed_subject::default_sandbox},
         .input = {sandbox_id_field(),
                   {"local_file_path", &input::local_file_path, "In SANDBOX_UPLOAD_FOLDER"},
                   {"content", &input::content, "base64"},
                   {"dest_path", &input::dest_path, "Needed with content"}},
         .process = std::bind_front(process_upload, std::ref(files), std::ref(sandboxes))});
}

constexpr std::size_t least_download = 64;  // bytes

struct download_input : sandbox_input {
    std::string file_path;
    std::string encoding;  // empty: text where the bytes are text
    std::uint64_t offset = 0;
    std::optional<std::size_t> limit;
};

struct file_part {
    std::string content;   // text or base64
    std::size_t used = 0;  // bytes of the file
    bool is_text = false;
};

// Of a part of a text the last character may be cut: it belongs to the next part.
std::size_t text_length(std::string_view bytes, bool cut)
{
    const auto valid = valid_utf8_length(bytes);
    return cut && bytes.size() - valid < 4 ? valid : valid == bytes.size() ? valid : 0;
}

// Of `bytes`, of which `whole` tells whether they go to the end of the file.
file_part part_of(std::string bytes, bool whole, const std::string& encoding)
{
    const auto text = text_length(bytes, !whole);
    file_part part;
    part.is_text = encoding != "base64" && (text != 0 || bytes.empty());
    if (encoding == "utf-8" && !part.is_text)
        throw sandbox_error("InvalidArgument", "The file is no UTF-8 text here; read it with encoding base64.");
    if (part.is_text) bytes.resize(text);
    part.used = bytes.size();
    part.content = part.is_text ? std::move(bytes) : base64_encode(bytes);
    return part;
}

// Escapes and base64 make the JSON of a part longer than its bytes.
file_part fitting_part(std::string bytes, bool whole, const std::string& encoding, std::size_t room)
{
    for (;;) {
        auto part = part_of(bytes, whole, encoding);
        const auto size = jsonrpc::json_size(part.content);
        if (size <= room || bytes.size() <= least_download) return part;
        bytes.resize(std::max(least_download, smaller_part(bytes.size(), size, room)));
        whole = false;
    }
}

awaitable<tool_result> process_download(sandbox_files& files, sandbox_manager& sandboxes, tool_context& context,
                                        download_input input)
{
    const auto where = co_await sandboxes.use(context.who, input.sandbox_id);
    const auto file = co_await files.download(where, input.file_path);
    const auto room = room_for_text(context.result_limit);
    std::string bytes = co_await file->read(input.offset, std::min(input.limit.value_or(room), room));
    const bool whole = input.offset + bytes.size() >= file->size();
    const auto size = bytes.size();
    auto fit = [shared_bytes = std::make_shared<std::string>(std::move(bytes)), whole, encoding = input.encoding,
                room] { return fitting_part(std::move(*shared_bytes), whole, encoding, room); };
    const auto part = co_await by_size(context.pool, where.owner, size, std::move(fit));
    const auto next_offset = input.offset + part.used;
    tool_result result;
    result.structured["success"] = true;
    if (next_offset < file->size()) result.structured["next_offset"] = static_cast<std::int64_t>(next_offset);
    result.structured["content"] = part.content;
    result.structured["encoding"] = part.is_text ? "utf-8" : "base64";
    result.structured["size"] = file->size();
    result.structured["file_link"] =
        sandboxes.link_to(context.who, where, files.relative("file_path", input.file_path));
    co_return result;
}

tool_owner make_download_file_from_sandbox(sandbox_files& files, sandbox_manager& sandboxes)
{
    using input = download_input;
    return make_tool<input>(
        {.about = {.name = "download_file_from_sandbox",
                   .title = "Read a file of a sandbox",
                   .description = "As file_read with sandbox_id, with a link to download the file.",
                   .output_schema = schema::output(
                       {{"content", schema::string("The text, or the bytes as base64")},
                        {"encoding", schema::one_of("What content is", {"utf-8", "base64"})},
                        {"size", schema::typed("integer", "Bytes of the whole file")},
                        {"next_offset", schema::typed("integer", "Where to go on when content ends before the file")},
                        {"file_link", schema::string("Where to download the file")}},
                       {"success", "content", "encoding", "size"}),
                   .needs = scope::read,
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false},
                   .about = unnamed_subject::default_sandbox,
                   .size_argument = "limit"},
         .input = {sandbox_id_field(),
                   {"file_path", &input::file_path, "", rule::required, rule::example("plot.png")},
                   {"encoding", &input::encoding, "Text if it is text", rule::one_of({"utf-8", "base64"})},
                   {"offset", &input::offset, "First byte", rule::between(0, std::int64_t{1} << 60)},
                   {"limit", &input::limit, "Maximum bytes", rule::between(1, 4 << 20)}},
         .process = std::bind_front(process_download, std::ref(files), std::ref(sandboxes))});
}

}  // namespace

void add_sandbox_file_tools(tool_registry& registry, const file_access& access, sandbox_files& files,
                            sandbox_manager& sandboxes)
{
    registry.add(make_upload_file_to_sandbox(files, sandboxes));
    registry.add(make_download_file_from_sandbox(files, sandboxes));
    registry.add(make_list_sandbox_files(access));
}

}  // namespace cmcp
