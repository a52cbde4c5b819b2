#include "mcp/tool_registry.hpp"
#include "shells/shell_manager.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/tools.hpp"

#include <cstdint>

namespace cmcp {
namespace {

constexpr std::uint16_t most_characters = 1000;  // in a row or a column
constexpr double longest_read = 300;             // seconds
constexpr std::int64_t furthest_cursor = 1ll << 53;

struct size_input {
    std::uint16_t cols = 0, rows = 0;

    bool resizes() const { return cols != 0 || rows != 0; }
    sandbox::terminal_size size() const
    {
        constexpr std::uint16_t usual_columns = 80, usual_rows = 24;
        return {cols != 0 ? cols : usual_columns, rows != 0 ? rows : usual_rows};
    }
};

field<size_input> columns_field(std::string_view description)
{
    return {"cols", &size_input::cols, description, rule::between(1, most_characters)};
}

field<size_input> rows_field(std::string_view description)
{
    return {"rows", &size_input::rows, description, rule::between(1, most_characters)};
}

struct shell_input {
    std::string shell_id;
};

field<shell_input> shell_id_field()
{
    return {"shell_id", &shell_input::shell_id, "", rule::header("Shell-Id"), rule::required};
}

json::object view_json(const shell_view& view)
{
    json::object shown{{"success", true},
                       {"shell_id", view.id},
                       {"cursor", static_cast<std::int64_t>(view.cursor)},
                       {"running", view.running}};
    if (!view.note.empty()) shown["note"] = view.note;
    if (!view.end) return shown;
    shown["exit_code"] = view.end->exit_code;
    shown["cause"] = sandbox::to_string(view.end->why);
    if (!view.end->error.empty()) shown["error"] = view.end->error + " shell_open opens another shell.";
    return shown;
}

json::object with_view(json::object schema)
{
    auto& properties = schema["properties"].as_object();
    properties["success"] = schema::boolean("Whether it worked");
    properties["shell_id"] = schema::string("Handle of the shell");
    properties["cursor"] = schema::typed("integer", "A place in the output of the shell, for shell_read");
    properties["running"] = schema::boolean("Whether the shell goes on");
    properties["note"] = schema::string("What may not have been typed as it is");
    properties["exit_code"] = schema::typed("integer", "Once it has ended: its exit status");
    properties["cause"] = schema::string("Once it has ended: why");
    properties["error"] = schema::string("What went wrong and what to do");
    return schema;
}

json::object view_output() { return with_view(schema::output({}, {"success", "shell_id", "cursor", "running"})); }

struct open_input : sandbox_input, size_input {};

awaitable<tool_result> process_open(shell_manager& shells, sandbox_manager& sandboxes, tool_context& context,
                                    open_input input)
{
    auto where = co_await sandboxes.use(context.who, input.sandbox_id);
    const auto view = co_await shells.open(context.who, context.io, std::move(where), input.size());
    co_return answer_of(view_json(view));
}

tool_owner make_shell_open(shell_manager& shells, sandbox_manager& sandboxes)
{
    return make_tool<open_input>(
        {.about =
             {.name = "shell_open",
              .title = "Open a shell in a sandbox",
              .description =
                  "Open bash with a terminal in a sandbox, for programs that need one (vim, debuggers, python -i). "
                  "For commands: execute_terminal_command.",
              .output_schema = view_output(),
              .needs = scope::run,
              .annotations = {.read_only = false, .destructive = false, .idempotent = false, .open_world = false},
              .about = unnamed_subject::default_sandbox},
         .input = {sandbox_id_field(), columns_field("80 by default"), rows_field("24 by default")},
         .process = std::bind_front(process_open, std::ref(shells), std::ref(sandboxes))});
}

struct send_input : shell_input, size_input {
    std::string text;
    std::vector<std::string> keys;
};

awaitable<tool_result> process_send(shell_manager& shells, tool_context& context, send_input input)
{
    shell_view view;
    if (input.resizes()) view = shells.resize(context.who, input.shell_id, input.size());
    if (!input.resizes() || !input.text.empty() || !input.keys.empty())
        view = co_await shells.send(context.who, input.shell_id, std::move(input.text), std::move(input.keys));
    co_return answer_of(view_json(view));
}

tool_owner make_shell_send(shell_manager& shells)
{
    using input = send_input;
    return make_tool<input>(
        {.about = {.name = "shell_send",
                   .title = "Type in a shell",
                   .description =
                       "Type text, then keys, in a shell, or resize it. A command needs a line feed or the key enter.",
                   .output_schema = view_output(),
                   .needs = scope::run,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false}},
         .input = {shell_id_field(),
                   {"text", &input::text, ""},
                   {"keys", &input::keys, "enter, tab, esc, up, home, page-up, backspace, delete, f1, ctrl-c, alt-x, …",
                    json::object{{"items", schema::string("")}}},
                   columns_field(""),
                   rows_field("")},
         .process = std::bind_front(process_send, std::ref(shells))});
}

struct read_input : shell_input {
    std::int64_t cursor = -1;
    std::string wait_for;
    std::string wait_for_pattern;
    std::int64_t quiet_ms = 300;
    std::chrono::milliseconds timeout{10'000};
    std::size_t max_output = default_max_output;
    bool raw = false;
    bool screen = false;
};

shell_wish wish_of(read_input input)
{
    shell_wish wish;
    if (input.cursor >= 0) wish.cursor = static_cast<std::uint64_t>(input.cursor);
    wish.wait_for = std::move(input.wait_for);
    wish.pattern = std::move(input.wait_for_pattern);
    wish.quiet = std::chrono::milliseconds(input.quiet_ms);
    wish.timeout = input.timeout;
    wish.max_output = input.max_output;
    wish.raw = input.raw;
    wish.screen = input.screen;
    return wish;
}

awaitable<tool_result> process_read(shell_manager& shells, tool_context& context, read_input input)
{
    const std::string id = input.shell_id;
    auto wish = wish_of(std::move(input));
    auto answer = co_await shells.read(context.who, id, std::move(wish));
    tool_result result;
    result.structured = view_json(answer);
    result.structured["text"] = answer.text;
    result.structured["matched"] = answer.matched;
    result.structured["more"] = answer.more;
    if (answer.cursor_row != 0) {
        result.structured["cursor_row"] = static_cast<std::int64_t>(answer.cursor_row);
        result.structured["cursor_column"] = static_cast<std::int64_t>(answer.cursor_column);
    }
    if (answer.lost != 0) result.structured["lost_bytes"] = static_cast<std::int64_t>(answer.lost);
    co_return result;
}

json::object read_output()
{
    return with_view(schema::output(
        {{"text", schema::string("The output from the cursor on, as lines of text; with raw as it is; with screen the "
                                 "rows of the terminal")},
         {"cursor_row", schema::typed("integer", "With screen: where the cursor is, from 1 on")},
         {"cursor_column", schema::typed("integer", "With screen: where the cursor is, from 1 on")},
         {"matched", schema::boolean("False: what was waited for has not come in time")},
         {"more", schema::boolean("There is more output to read at once")},
         {"lost_bytes", schema::typed("integer", "Bytes behind the cursor that the server no longer had")}},
        {"success", "shell_id", "text", "cursor", "running", "matched", "more"}));
}

tool_owner make_shell_read(shell_manager& shells)
{
    using input = read_input;
    return make_tool<input>(
        {.about = {.name = "shell_read",
                   .title = "Read a shell",
                   .description = "Output of a shell since the last answer, once it pauses or shows the awaited text.",
                   .output_schema = read_output(),
                   .needs = scope::run,
                   .annotations = {.read_only = true, .destructive = false, .idempotent = false, .open_world = false}},
         .input = {shell_id_field(),
                   {"cursor", &input::cursor, "From an earlier answer", rule::between(0, furthest_cursor)},
                   {"wait_for", &input::wait_for, "Text to wait for"},
                   {"wait_for_pattern", &input::wait_for_pattern, "Regular expression to wait for"},
                   {"quiet_ms", &input::quiet_ms, "Pause that ends the wait", rule::with_default,
                    rule::between(0, 60'000)},
                   {"timeout", &input::timeout, "Seconds; 10 by default", rule::between(0, longest_read)},
                   {"max_output", &input::max_output, "Bytes", rule::unlisted,
                    rule::between(256, static_cast<std::int64_t>(highest_max_output))},
                   {"raw", &input::raw, "Keep control sequences", rule::unlisted, rule::with_default},
                   {"screen", &input::screen, "The rows of the terminal instead, for vim, less, top",
                    rule::with_default}},
         .process = std::bind_front(process_read, std::ref(shells))});
}

awaitable<tool_result> process_close(shell_manager& shells, tool_context& context, shell_input input)
{
    const auto view = co_await shells.close(context.who, std::move(input.shell_id));
    co_return answer_of(view_json(view));
}

tool_owner make_shell_close(shell_manager& shells)
{
    return make_tool<shell_input>(
        {.about = {.name = "shell_close",
                   .title = "Close a shell",
                   .description = "Hang up a shell with its jobs.",
                   .output_schema = view_output(),
                   .needs = scope::run,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false}},
         .input = {shell_id_field()},
         .process = std::bind_front(process_close, std::ref(shells))});
}

}  // namespace

void add_shell_tools(tool_registry& registry, shell_manager& shells, sandbox_manager& sandboxes)
{
    registry.add(make_shell_open(shells, sandboxes));
    registry.add(make_shell_send(shells));
    registry.add(make_shell_read(shells));
    registry.add(make_shell_close(shells));
}

}  // namespace cmcp
