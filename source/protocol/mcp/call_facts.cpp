#include "mcp/call_facts.hpp"

#include "log/request_id.hpp"
#include "mcp/tool.hpp"

#include <algorithm>

namespace cmcp {

namespace {

constexpr std::size_t longest_cause = 40;
constexpr std::size_t longest_handle = 80;  // kind, node and random digits

std::string_view text_fact(const json::object& from, std::string_view name)
{
    const auto* member = from.if_contains(name);
    const auto* text = member ? member->if_string() : nullptr;
    return text ? std::string_view(text->data(), text->size()) : std::string_view();
}

// A sandbox's name may hold blanks. What is neither a handle nor a name is not repeated.
std::string_view sandbox_fact(const json::object& from, std::string_view name)
{
    const auto text = text_fact(from, name);
    if (text.empty() || text.size() > longest_handle) return {};
    std::string letters(text);
    std::replace(letters.begin(), letters.end(), ' ', '-');
    return log::is_plain_id(letters, longest_handle) ? text : std::string_view();
}

std::size_t bytes_of(const json::value& block)
{
    std::size_t bytes = 0;
    const auto* members = block.if_object();
    for (const char* name : {"text", "data", "uri"})
        if (members) bytes += text_fact(*members, name).size();
    return bytes;
}

}  // namespace

void call_facts::note_arguments(const json::object& arguments) { sandbox = sandbox_fact(arguments, "sandbox_id"); }

void call_facts::note_result(const tool_result& result)
{
    const auto& structured = result.structured;
    failed = result.is_error;
    for (const char* name : {"sandbox_id", "container_id"})
        if (const auto id = sandbox_fact(structured, name); !id.empty()) sandbox = id;
    if (const auto id = text_fact(structured, "job_id"); log::is_plain_id(id, longest_handle)) job = id;
    cause = text_fact(structured, "cause").substr(0, longest_cause);
    error_type = text_fact(structured, "error_type").substr(0, longest_cause);
    if (const auto* code = structured.if_contains("exit_code"); code && code->is_int64()) exit_code = code->get_int64();
}

std::size_t call_facts::bytes_in(const json::object& described)
{
    const auto* content = described.if_contains("content");
    const auto* blocks = content ? content->if_array() : nullptr;
    std::size_t sum = 0;
    if (blocks)
        for (const auto& block : *blocks) sum += bytes_of(block);
    return sum;
}

std::string_view call_facts::ending() const
{
    if (refused) return "refused";
    if (!cause.empty()) return cause;
    return failed ? "tool_error" : "ok";
}

}  // namespace cmcp
