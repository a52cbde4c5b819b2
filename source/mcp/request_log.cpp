#include "mcp/request_log.hpp"

#include "log/log.hpp"

#include <optional>

namespace cmcp {

namespace {

using log::unless_empty;

constexpr std::size_t longest_peer_text = 80;  // of what a client says of itself

std::optional<std::string_view> client_text(const caller* who, std::string_view name)
{
    const auto* said = who ? who->client_info.if_contains(name) : nullptr;
    const auto* text = said ? said->if_string() : nullptr;
    if (!text || text->empty()) return std::nullopt;
    return std::string_view(text->data(), text->size()).substr(0, longest_peer_text);
}

std::optional<std::string_view> caller_text(const caller* who, std::string caller::*member)
{
    return who ? unless_empty(who->*member) : std::nullopt;
}

// "task" or "input_required", where the result is no final one (2026-07-28).
std::string_view unfinished(const outcome& done)
{
    const auto* type = done.result ? done.result->if_contains("resultType") : nullptr;
    const auto* text = type ? type->if_string() : nullptr;
    return text && *text != "complete" ? std::string_view(text->data(), text->size()) : std::string_view();
}

std::string_view ending_of(const running_request& request, const outcome& done)
{
    if (request.cancelled()) return "cancelled";
    if (done.asked) return "input_required";
    if (done.error) return done.error->code == rpc_code::internal_error ? "error" : "refused";
    const auto type = unfinished(done);
    if (!done.result || type == "task" || type == "input_required") return done.result ? type : "cancelled";
    return request.method == tool_call_method ? request.facts.ending() : "ok";
}

std::optional<int> code_of(const outcome& done) { return done.error ? std::optional(done.error->code) : std::nullopt; }

}  // namespace

void log_end(const running_request& request, const outcome& done, std::chrono::duration<double> took)
{
    const bool calls = request.method == tool_call_method;
    const auto severity = calls ? log::level::info : log::level::debug;
    if (!log::enabled(severity)) return;
    const auto* who = request.who.get();
    const auto& facts = request.facts;
    const std::string_view event = request.may_become_task ? "task_ended" : calls ? "tool_call" : "mcp_request";
    const auto target = std::string_view(request.target).substr(0, longest_peer_text);
    log::write(severity, event,
               {{"request", request.ids.own},
                {"client_request_id", unless_empty(request.ids.of_client)},
                {"principal", caller_text(who, &caller::principal)},
                {"session", caller_text(who, &caller::session_tag)},
                {"client", client_text(who, "name")},
                {"client_version", client_text(who, "version")},
                {"method", unless_empty(calls ? std::string_view() : request.method)},
                {"tool", unless_empty(calls ? target : std::string_view())},
                {"sandbox", unless_empty(facts.sandbox)},
                {"job", unless_empty(facts.job)},
                {"task", unless_empty(request.task)},
                {"cause", ending_of(request, done)},
                {"error_type", unless_empty(facts.error_type)},
                {"code", code_of(done)},
                {"exit_code", facts.exit_code},
                {"ms", took},
                {"bytes", calls ? std::optional(facts.bytes) : std::nullopt},
                {"trace", unless_empty(request.trace.trace)}});
}

}  // namespace cmcp
