#pragma once

#include "async/asio.hpp"
#include "identity/scope.hpp"
#include "jsonrpc/json.hpp"
#include "mcp/tool_context.hpp"

#include <string>

namespace cmcp {

/// True statements about a tool (MCP `ToolAnnotations`).
struct tool_annotations {
    bool read_only = false;
    bool destructive = true;
    bool idempotent = false;
    bool open_world = true;
};

/// Whether a call of a tool may be answered with a task (extension io.modelcontextprotocol/tasks).
enum class task_use {
    never,
    may,  ///< when the tool says so (request_io::become_task) or the call takes long, for callers that take tasks
    must  ///< as may, and other callers are refused
};

/// A list of a result to which the other servers of a cluster add their rows.
struct gathered_list {
    std::string member{};       ///< of the result object; empty: there is no such list
    bool newest_first = false;  ///< by `created` of the rows, in ISO 8601
};

/// The subject of a call that has no `sandbox_id`. In a cluster it leads to the server that answers.
enum class unnamed_subject {
    none,
    latest_sandbox,  ///< of the caller
    new_sandbox,     ///< any server may make it
    default_sandbox  ///< of the caller
};

/// A tool as tools/list describes it.
struct tool_definition {
    std::string name;  ///< [a-z0-9_]{1,40}
    std::string title;
    std::string description;
    json::object input_schema{};   ///< JSON Schema 2020-12, root object; kept verbatim
    json::object listed_schema{};  ///< what tools/list has in place of it; empty: the input schema itself
    json::object output_schema{};  ///< empty: none is published
    bool may_show_images = false;  ///< then the output schema is published over REST alone: images come without object
    scope needs = scope::admin;    ///< of the caller, so that a tool that names none is closed to ordinary ones
    tool_annotations annotations{};
    json::object meta{};  ///< `_meta`; empty: none
    task_use tasks = task_use::never;
    gathered_list gathers{};
    unnamed_subject about = unnamed_subject::none;
    bool keeps_to_network = false;  ///< code in a sandbox reaches by it what the sandbox's own network reaches
    bool for_code_alone = false;    ///< only programs of sandboxes know it
    bool leads_to_others =
        false;  ///< by it other tools are found or called; listed where a profile names it, and not known to code
    std::string size_argument{};  ///< the argument that asks for bytes of the result, beside max_output; empty: none
};

/// How a call ended. `structured` is sent as structuredContent and, where `content` has no text, also as text in front
/// of it, in `text` where a tool says it in fewer words.
struct tool_result {
    tool_result() = default;

    /// Built in this memory: for a small result, that of the arguments (`arguments.storage()`).
    explicit tool_result(const json::storage_ptr& memory) : structured(memory), content(memory), meta(memory) {}

    json::object structured;
    json::array content;  ///< MCP content blocks
    bool is_error = false;
    json::object meta;
    std::string text;  ///< what a model reads in place of result_text(structured); empty: that
};

/// An MCP tool. The arguments given to call() have been validated against input_schema.
/// A failure that the model can correct is a result with is_error; cancellation passes through as operation_aborted.
class tool {
public:
    virtual ~tool() = default;

    virtual const tool_definition& definition() const = 0;
    virtual awaitable<tool_result> call(tool_context& context, json::object arguments) = 0;

    /// Why it cannot work on this server, in a sentence that says what switches it on; empty: it can. Must not change.
    virtual std::string obstacle() const { return {}; }
};

/// {success: false, error: sentence} with is_error set.
inline tool_result tool_failure(std::string sentence)
{
    tool_result failed;
    failed.structured["success"] = false;
    failed.structured["error"] = sentence;
    failed.is_error = true;
    return failed;
}

}  // namespace cmcp
