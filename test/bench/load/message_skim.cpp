#include "load/message_skim.hpp"

#include "load/json_walker.hpp"

namespace cmcp::load {

namespace {

std::string_view unquoted(std::string_view raw)
{
    return raw.size() >= 2 && raw.front() == '"' ? raw.substr(1, raw.size() - 2) : std::string_view();
}

bool failed_run_object(std::string_view object)
{
    bool failed = false;
    each_member(object, [&failed](std::string_view key, std::string_view value) {
        if (key == "exit_code") failed = failed || read_json_number<double>(value).value_or(0) != 0;
        if (key == "success") failed = failed || value.starts_with("false");
    });
    return failed;
}

// The raw string of the first text of `content`; empty: there is none.
std::string_view first_text(std::string_view content)
{
    std::string_view text;
    json_walker at(content);
    if (!at.take('[')) return text;
    each_member(at.value(), [&text](std::string_view key, std::string_view value) {
        if (key == "text") text = value;
    });
    return text;
}

bool failed_run_text(std::string_view raw)
{
    // Most texts are no JSON: to look is cheaper than to unescape.
    bool object = raw.starts_with("\"{") || raw.starts_with("\" ") || raw.starts_with("\"\\n");
    bool of_run = raw.find("exit_code") != std::string_view::npos || raw.find("success") != std::string_view::npos;
    return object && of_run && failed_run_object(nested_json(unquoted(raw)));
}

}  // namespace

message_skim skim_message(std::string_view text)
{
    message_skim seen;
    seen.valid = each_member(text, [&seen](std::string_view key, std::string_view value) {
        if (key == "id") seen.id = read_json_number<std::int64_t>(value);
        if (key == "method") seen.method = unquoted(value);
        if (key == "params") seen.params = value;
        if (key == "result") seen.result = value;
        if (key == "error") seen.error = value;
    });
    each_member(seen.result, [&seen](std::string_view key, std::string_view value) {
        if (key == "isError") seen.tool_error = value.starts_with("true");
    });
    each_member(seen.error, [&seen](std::string_view key, std::string_view value) {
        if (key == "code") seen.error_code = read_json_number<int>(value);
    });
    if (!seen.error.empty() && !seen.error_code) seen.error_code = 0;
    return seen;
}

progress_skim skim_progress(std::string_view params)
{
    progress_skim seen;
    std::string_view message, meta;
    each_member(params, [&](std::string_view key, std::string_view value) {
        if (key == "message") message = unquoted(value);
        if (key == "_meta") meta = value;
    });
    each_member(meta, [&seen](std::string_view key, std::string_view value) {
        if (key == "container-mcp/stream") seen.stderr_stream = unquoted(value) == "stderr";
        if (key == "container-mcp/offset") seen.offset = read_json_number<std::uint64_t>(value);
    });
    seen.output = !message.empty();
    seen.bytes = decoded_size(message);
    return seen;
}

bool tells_of_failed_run(std::string_view result)
{
    std::string_view structured, content;
    each_member(result, [&](std::string_view key, std::string_view value) {
        if (key == "structuredContent") structured = value;
        if (key == "content") content = value;
    });
    return structured.empty() ? failed_run_text(first_text(content)) : failed_run_object(structured);
}

std::string_view agreed_revision(std::string_view result)
{
    std::string_view revision;
    each_member(result, [&revision](std::string_view key, std::string_view value) {
        if (key == "protocolVersion") revision = unquoted(value);
    });
    return revision;
}

}  // namespace cmcp::load
