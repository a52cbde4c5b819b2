#include "mcp/request_record.hpp"

#include "audit/sink.hpp"
#include "log/bounded_log.hpp"
#include "log/log.hpp"
#include "metrics/registry.hpp"
#include "metrics/span_queue.hpp"
#include "text/random_id.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace cmcp {

namespace {

using log::unless_empty;

constexpr std::string_view tool_call_method = "tools/call";
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
    if (done.error) return done.error->code == rpc_code::internal_error ? "error" : "refused";
    const auto type = unfinished(done);
    if (!done.result || type == "task" || type == "input_required") return done.result ? type : "cancelled";
    return request.method == tool_call_method ? request.facts.ending() : "ok";
}

std::optional<int> code_of(const outcome& done) { return done.error ? std::optional(done.error->code) : std::nullopt; }

std::optional<std::string_view> origin_text(const running_request& request,
                                            std::string jsonrpc::request_origin::*member)
{
    return request.ids.from ? unless_empty((*request.ids.from).*member) : std::nullopt;
}

// A line of the log and a record of the audit have the same fields.
struct end_of_request {
    std::string_view cause;
    std::optional<int> code;
    std::chrono::duration<double> took;
};

/// Where a request stands in a trace; empty where it stands in none.
struct trace_mark {
    std::string trace, span;
};

trace_mark mark_of(const metrics::trace_parent& parent)
{
    if (!metrics::spans().wants(parent)) return {parent.trace, {}};
    return {parent.trace.empty() ? random_id(16) : parent.trace, random_id(8)};
}

template <class Take>
void describe_end(const running_request& request, const end_of_request& end, const trace_mark& mark, Take take)
{
    const bool calls = request.method == tool_call_method;
    const auto* who = request.who;
    const auto& facts = request.facts;
    const auto target = std::string_view(request.target).substr(0, longest_peer_text);
    take({{"request", request.ids.own},
          {"client_request_id", unless_empty(request.ids.of_client)},
          {"principal", caller_text(who, &caller::principal)},
          {"credential", origin_text(request, &jsonrpc::request_origin::credential)},
          {"peer", origin_text(request, &jsonrpc::request_origin::address)},
          {"session", caller_text(who, &caller::session_tag)},
          {"client", client_text(who, "name")},
          {"client_version", client_text(who, "version")},
          {"method", unless_empty(calls ? std::string_view() : request.method)},
          {"tool", unless_empty(calls ? target : std::string_view())},
          {"target", unless_empty(calls ? std::string_view() : target)},
          {"sandbox", unless_empty(facts.sandbox)},
          {"job", unless_empty(facts.job)},
          {"task", unless_empty(request.task)},
          {"cause", end.cause},
          {"error_type", unless_empty(facts.error_type)},
          {"code", end.code},
          {"exit_code", facts.exit_code},
          {"ms", end.took},
          {"bytes", calls ? std::optional(facts.bytes) : std::nullopt},
          {"trace", unless_empty(mark.trace)},
          {"span", unless_empty(mark.span)}});
}

// Programs can be refused thousands of times a second.
log::bounded_log& refused_lines()
{
    constexpr std::uint64_t most = 50;
    static log::bounded_log lines("refused_calls_more", most);
    return lines;
}

void tell_end(const running_request& request, const outcome& done, std::chrono::duration<double> took,
              const trace_mark& mark, bool recorded)
{
    const bool calls = request.method == tool_call_method;
    const auto severity = calls ? log::level::info : log::level::debug;
    const bool logged = log::enabled(severity);
    recorded = recorded && audit::current() != nullptr && is_recorded(request.method);
    if (!logged && !recorded) return;
    const std::string_view event = request.may_become_task ? "task_ended" : calls ? "tool_call" : "mcp_request";
    const auto is = request.may_become_task ? audit::kind::job : audit::kind::call;
    const auto ending = ending_of(request, done);
    const bool is_logged = logged && (ending != "refused" || refused_lines().may_write());
    describe_end(request, {ending, code_of(done), took}, mark, [&](log::fields with) {
        if (is_logged) log::write(severity, event, with);
        if (recorded) audit::add(is, with, request.arguments(), request.digest);
    });
}

constexpr std::size_t longest_target = 200;

std::string_view attribute_of(std::string_view method)
{
    if (method == "tools/call") return "gen_ai.tool.name";
    if (method == "prompts/get") return "gen_ai.prompt.name";
    return method.starts_with("resources/") ? "mcp.resource.uri" : std::string_view();
}

std::string error_of(const running_request& request, const outcome& done)
{
    if (request.cancelled()) return "cancelled";
    if (done.error) return std::to_string(static_cast<int>(done.error->code));
    return request.facts.failed || request.facts.refused ? "tool_error" : std::string();
}

// Named and described as OpenTelemetry's conventions for MCP do; arguments are left out.
metrics::span span_of(const running_request& request, const outcome& done, std::chrono::duration<double> took,
                      trace_mark mark)
{
    metrics::span span;
    const std::string target = request.target.substr(0, longest_target);
    const std::string_view attribute = attribute_of(request.method);
    const bool in_name = attribute.ends_with(".name") && !target.empty();  // a URI would make too many names
    span.name = in_name ? request.method + " " + target : request.method;
    span.parent = request.trace;
    span.trace = std::move(mark.trace);
    span.id = std::move(mark.span);
    span.took = std::chrono::duration_cast<std::chrono::nanoseconds>(took);
    span.began =
        std::chrono::system_clock::now() - std::chrono::duration_cast<std::chrono::system_clock::duration>(took);
    span.attributes = {{"mcp.method.name", request.method}, {"container_mcp.request", request.ids.own}};
    if (!attribute.empty() && !target.empty()) span.attributes.emplace_back(attribute, target);
    if (!request.facts.cause.empty()) span.attributes.emplace_back("container_mcp.cause", request.facts.cause);
    if (!request.task.empty()) span.attributes.emplace_back("container_mcp.task", request.task);
    span.error = error_of(request, done);
    return span;
}

std::string_view how_it_ended(const running_request& request, const outcome& done)
{
    if (request.cancelled()) return "cancelled";
    return done.error ? "error" : "ok";
}

}  // namespace

void record_end(const running_request& request, const outcome& done, std::chrono::steady_clock::time_point began)
{
    static auto& requests = metrics::all().counters("cmcp_requests_total", "MCP requests by method and how they ended.",
                                                    {"method", "outcome"});
    static auto& times =
        metrics::all().histograms("cmcp_request_seconds", "Time of MCP requests by method.", {"method"});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    // The request that waits for a call counts it, unless the call has gone on as a task.
    if (request.may_become_task && request.task.empty()) return;
    if (!request.may_become_task) {
        requests.at({request.method, how_it_ended(request, done)}).add();
        times.at({request.method}).observe(took.count());
    }
    auto mark = mark_of(request.trace);
    tell_end(request, done, took, mark, true);
    if (!mark.span.empty()) metrics::spans().add(span_of(request, done, took, std::move(mark)));
}

void record_refusal(const running_request& request, const rpc_error& why, bool recorded)
{
    if (request.method != tool_call_method && !is_recorded(request.method)) return;
    outcome done;
    done.error = std::make_unique<rpc_error>(why);
    tell_end(request, done, std::chrono::steady_clock::duration::zero(), {request.trace.trace, {}}, recorded);
}

void record_running(running_request& request)
{
    if (audit::current() == nullptr || request.recorded_as_running || !is_recorded(request.method)) return;
    request.recorded_as_running = true;
    const auto took = std::chrono::steady_clock::now() - request.began;
    const auto worker = request.worker.lock();
    const auto& works = worker ? *worker : request;
    describe_end(works, {"running", std::nullopt, took}, {works.trace.trace, {}},
                 [&](log::fields with) { audit::add(audit::kind::running, with, works.arguments(), works.digest); });
}

bool is_recorded(std::string_view method)
{
    constexpr std::array<std::string_view, 5> recorded{tool_call_method, "resources/read", "prompts/get",
                                                       "tasks/update", "tasks/cancel"};
    return std::find(recorded.begin(), recorded.end(), method) != recorded.end();
}

}  // namespace cmcp
