#include "files/glob.hpp"
#include "jsonrpc/json_size.hpp"
#include "mcp/tool_registry.hpp"
#include "text/encodings.hpp"
#include "text/utf8_text.hpp"
#include "tools/described_tool.hpp"
#include "tools/file_access.hpp"

namespace cmcp {
namespace {

constexpr std::uint64_t least_part = 64;                        // bytes
constexpr std::int64_t highest_offset = std::int64_t{1} << 53;  // exact in every JSON reader

// A part whose JSON fits the result: escapes and base64 make it longer than the file's bytes.
awaitable<file_content> read_fitting(file_access access, tool_context& context, std::string sandbox,
                                     file_read_request request)
{
    const std::size_t room = room_for_text(context.result_limit);
    request.limit = std::min<std::uint64_t>(request.limit.value_or(room), room);
    for (;;) {
        auto read = co_await access.read(context.who, sandbox, request);
        auto content = std::make_shared<file_content>(std::move(read));
        auto measure = [content] { return jsonrpc::json_size(content->content); };
        const auto bytes = content->content.size();
        const auto size = co_await by_size(context.pool, context.who.principal, bytes, std::move(measure));
        if (size <= room || *request.limit <= least_part) co_return std::move(*content);
        request.limit = std::max<std::uint64_t>(least_part, smaller_part(*request.limit, size, room));
    }
}

struct file_read_input : sandbox_input, file_read_request {};

awaitable<tool_result> process_file_read(file_access access, tool_context& context, file_read_input input)
{
    file_read_request request = static_cast<const file_read_request&>(input);
    auto content = co_await read_fitting(access, context, input.sandbox_id, std::move(request));
    tool_result result;
    result.structured["content"] = content.content;
    result.structured["size"] = content.size;
    result.structured["modified"] = content.modified;
    if (content.next_offset) {
        result.structured["truncated"] = true;
        result.structured["next_offset"] = *content.next_offset;
        if (content.next_line) result.structured["next_line"] = *content.next_line;
    }
    result.structured["success"] = true;
    co_return result;
}

tool_owner make_file_read(const file_access& access)
{
    using input = file_read_input;
    return make_tool<input>(
        {.about = {.name = "file_read",
                   .title = "Read a file",
                   .description = "Read a text file (others: view_file). Continue with next_offset as offset.",
                   .output_schema = schema::output(
                       {{"content", schema::string("The text, or base64.")},
                        {"size",
                         schema::typed("integer", "Bytes of the whole file.", rule::between(0, highest_offset))},
                        {"modified",
                         schema::typed("number", "Last change, in seconds since 1970.", rule::between(-1e18, 1e18))},
                        {"truncated", schema::boolean("Whether there is more.")},
                        {"next_offset", schema::typed("integer", "Where to go on.", rule::between(0, highest_offset))},
                        {"next_line", schema::typed("integer", "The line to go on with.")}},
                       {"success"}),
                   .needs = scope::read,
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false},
                   .about = unnamed_subject::default_sandbox,
                   .size_argument = "limit"},
         .input = with_sandbox<input>(
             {{"path", &input::path, "", rule::required, rule::example("notes/a.txt")},
              {"encoding", &input::encoding, "utf-8, latin-1, base64, …", rule::with_default},
              {"offset", &input::offset, "First byte", rule::between(0, highest_offset)},
              {"limit", &input::limit, "Maximum bytes", rule::unlisted, rule::between(1, highest_offset)},
              {"line", &input::line, "First line", rule::between(1, highest_offset)},
              {"lines", &input::lines, "", rule::between(1, highest_offset)}}),
         .process = std::bind_front(process_file_read, access),
         .refuse = file_refusal});
}

struct file_write_input : sandbox_input, file_write_request {};

awaitable<tool_result> process_file_write(file_access access, tool_context& context, file_write_input input)
{
    const std::string path = input.path, sandbox = input.sandbox_id;
    file_write_request request = std::move(input);
    const auto note = co_await access.write(context.who, sandbox, std::move(request));
    json::object answer{{"path", path}, {"success", true}};
    if (!note.empty()) answer["note"] = note;
    co_return answer_of(std::move(answer));
}

tool_owner make_file_write(const file_access& access)
{
    using input = file_write_input;
    return make_tool<input>(
        {.about = {.name = "file_write",
                   .title = "Write a file",
                   .description =
                       "Write or replace a whole file; missing folders are made. To change a part use file_edit.",
                   .output_schema = schema::output({{"path", schema::string("The path of the file.")},
                                                    {"note", schema::string("In which sandbox it is.")}},
                                                   {"success"}),
                   .needs = scope::files,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false},
                   .about = unnamed_subject::default_sandbox},
         .input = with_sandbox<input>({{"path", &input::path, "", rule::required, rule::example("notes/a.txt")},
                                       {"content", &input::content, "", rule::required, rule::example("hello")},
                                       {"encoding", &input::encoding, "", rule::with_default}}),
         .process = std::bind_front(process_file_write, access),
         .refuse = file_refusal});
}

json::object file_list_output()
{
    auto entry = schema::object(
        "",
        {{"name", schema::string("The name; bytes that are no UTF-8 are written as \\xFF.")},
         {"path", schema::string("The path, as the other file tools take it.")},
         {"is_directory", schema::boolean("Whether it is a folder; a symbolic link never is.")},
         {"size", schema::any("Bytes; null for folders.")},
         {"modified", schema::typed("number", "Last change, in seconds since 1970.", rule::between(-1e18, 1e18))},
         {"type", schema::one_of("What it is.", {"file", "directory", "symlink", "fifo", "socket", "device"})},
         {"name_base64", schema::string("The exact name, where it is no UTF-8.")}},
        {"name", "path", "is_directory", "size", "modified"});
    return schema::output({{"entries", schema::array("Sorted by path.", std::move(entry))},
                           {"path", schema::string("The folder that was asked for.")},
                           {"truncated", schema::boolean("Whether entries are missing here.")},
                           {"next_cursor", schema::string("For the next page.")},
                           {"note", schema::string("Why entries are missing that no further page has.")}},
                          {"success"});
}

json::object entry_json(const file_entry& entry)
{
    json::object row{{"name", escape_invalid_utf8(entry.name)},
                     {"path", escape_invalid_utf8(entry.path)},
                     {"is_directory", entry.type == "directory"},
                     {"size", entry.size ? json::value(*entry.size) : json::value()},
                     {"modified", entry.modified},
                     {"type", entry.type}};
    if (valid_utf8_length(entry.name) != entry.name.size()) row["name_base64"] = base64_encode(entry.name);
    return row;
}

std::string why_nothing(const file_page& page, const file_list_request& request)
{
    if (!page.entries.empty() || page.left_out != 0 || !request.cursor.empty()) return {};
    if (request.pattern.empty()) return "The folder is empty.";
    const bool below = request.recursive || glob(request.pattern).is_deep();
    return "Nothing matches " + request.pattern + " in " + request.path +
           (below ? "." : "; with recursive, the folders below are looked through as well.");
}

// Why there are entries that no page has.
std::string why_missing(const file_page& page)
{
    if (page.depth_limited) return "Folders more than 64 levels down were left out; list them by their path.";
    if (page.count_limited) return "There are too many entries; list a folder below, or use a pattern.";
    if (!page.closed_folder.empty())
        return "The permissions of " + escape_invalid_utf8(page.closed_folder) +
               " do not allow to look into it; chmod in a run changes that.";
    if (page.left_out == 0) return {};
    return "Left out: " + std::to_string(page.left_out) + " of .cache, .displays and .kernel; list them by their path.";
}

json::object page_json(const file_page& page, const file_list_request& request)
{
    json::object shown;
    json::array& entries = shown["entries"].emplace_array();
    for (const auto& entry : page.entries) entries.push_back(entry_json(entry));
    auto note = why_missing(page);
    if (note.empty()) note = why_nothing(page, request);
    if (!note.empty()) shown["note"] = note;
    if (!page.next_cursor.empty()) shown["next_cursor"] = page.next_cursor;
    if (!page.next_cursor.empty() || page.count_limited || page.depth_limited) shown["truncated"] = true;
    return shown;
}

struct file_list_input : sandbox_input, file_list_request {};

awaitable<tool_result> process_file_list(file_access access, tool_context& context, file_list_input input)
{
    const std::string path = input.path, sandbox = input.sandbox_id;
    file_list_request request = std::move(input);
    const file_list_request wanted = request;
    request.page_bytes = room_for_text(context.result_limit);
    if (path == file_list_request().path) request.path = ".";
    request.without_noise = !context.is_program;
    const auto page = co_await access.list(context.who, sandbox, std::move(request));
    auto shown = page_json(page, wanted);
    shown["path"] = path;
    shown["success"] = true;
    co_return answer_of(std::move(shown));
}

fields<file_list_input> file_list_fields()
{
    using input = file_list_input;
    return {{"path", &input::path, "", rule::with_default},
            {"pattern", &input::pattern, "Glob"},
            {"recursive", &input::recursive, "", rule::with_default},
            {"limit", &input::limit, "Most entries", rule::unlisted, rule::between(1, 10'000)},
            {"cursor", &input::cursor, ""}};
}

tool_definition about_list(std::string name, std::string title, std::string description)
{
    return {.name = std::move(name),
            .title = std::move(title),
            .description = std::move(description),
            .output_schema = file_list_output(),
            .needs = scope::read,
            .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false},
            .about = unnamed_subject::default_sandbox};
}

tool_owner make_file_list(const file_access& access)
{
    return make_tool<file_list_input>(
        {.about = about_list("file_list", "List files", "List a folder. Continue with next_cursor as cursor."),
         .input = with_sandbox<file_list_input>(file_list_fields()),
         .process = std::bind_front(process_file_list, access),
         .refuse = file_refusal});
}

struct file_delete_input : sandbox_input {
    std::string path;
};

awaitable<tool_result> process_file_delete(file_access access, tool_context& context, file_delete_input input)
{
    co_await access.remove(context.who, input.sandbox_id, input.path);
    co_return answer_of({{"path", input.path}, {"success", true}});
}

tool_owner make_file_delete(const file_access& access)
{
    using input = file_delete_input;
    return make_tool<input>(
        {.about = {.name = "file_delete",
                   .title = "Delete a file",
                   .description = "Delete a file; folders are refused.",
                   .output_schema = schema::output({{"path", schema::string("The path of the file.")}}, {"success"}),
                   .needs = scope::files,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false},
                   .about = unnamed_subject::default_sandbox},
         .input = with_sandbox<input>({{"path", &input::path, "", rule::required, rule::example("notes/a.txt")}}),
         .process = std::bind_front(process_file_delete, access),
         .refuse = file_refusal});
}

struct file_move_input : sandbox_input, file_move_request {};

awaitable<tool_result> process_file_move(file_access access, tool_context& context, file_move_input input)
{
    json::object shown{{"source", input.source}, {"destination", input.destination}, {"success", true}};
    const std::string sandbox = input.sandbox_id;
    file_move_request request = std::move(input);
    co_await access.move(context.who, sandbox, std::move(request));
    co_return answer_of(std::move(shown));
}

tool_owner make_file_move(const file_access& access)
{
    using input = file_move_input;
    return make_tool<input>(
        {.about = {.name = "file_move",
                   .title = "Move or rename a file",
                   .description = "Move or rename a file or folder; missing folders are made.",
                   .output_schema = schema::output(
                       {{"source", schema::string("The old path.")}, {"destination", schema::string("The new path.")}},
                       {"success"}),
                   .needs = scope::files,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false},
                   .about = unnamed_subject::default_sandbox},
         .input = with_sandbox<input>(
             {{"source", &input::source, "", rule::required, rule::example("a.txt")},
              {"destination", &input::destination, "With the new name", rule::required, rule::example("notes/b.txt")},
              {"overwrite", &input::overwrite, "Replace an existing file", rule::with_default}}),
         .process = std::bind_front(process_file_move, access),
         .refuse = file_refusal});
}

}  // namespace

tool_owner make_list_sandbox_files(const file_access& access)
{
    auto input = file_list_fields();
    input.insert(input.begin(), sandbox_id_field());
    return make_tool<file_list_input>(
        {.about = about_list("list_sandbox_files", "List the files of a sandbox", "As file_list with sandbox_id."),
         .input = std::move(input),
         .process = std::bind_front(process_file_list, access)});
}

void add_file_tools(tool_registry& registry, const file_tool_parts& parts)
{
    const file_access access(parts, registry);
    registry.add(make_file_read(access));
    registry.add(make_file_write(access));
    registry.add(make_file_edit(access));
    registry.add(make_file_list(access));
    registry.add(make_file_delete(access));
    registry.add(make_file_move(access));
}

}  // namespace cmcp
