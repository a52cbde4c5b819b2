#include "transport/rpc_over_http.hpp"

#include "config/settings.hpp"
#include "http/challenge.hpp"
#include "http/endpoint_address.hpp"
#include "http/long_body.hpp"
#include "jsonrpc/message.hpp"
#include "mcp/needed_scopes.hpp"
#include "mcp/params.hpp"
#include "mcp/request_record.hpp"
#include "mcp/server_core.hpp"
#include "text/ascii.hpp"
#include "text/words.hpp"
#include "transport/profile_choice.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

// "text/html;q=0" is not acceptable (RFC 9110 section 12.4.2).
bool is_unwanted(std::string_view range)
{
    const auto parts = split(range, ';');
    return std::any_of(parts.begin() + 1, parts.end(), [](std::string_view part) {
        const auto weight = trimmed(part);
        return weight.size() >= 3 && to_lower(weight.front()) == 'q' && weight[1] == '=' &&
               weight.substr(2).find_first_not_of("0.") == std::string_view::npos;
    });
}

http_reply session_refused(session_store::refusal why)
{
    using refusal = session_store::refusal;
    bool all = why == refusal::too_many;
    auto sentence = all ? "The server has as many sessions as MCP_MAX_SESSIONS allows; try again later."
                    : why == refusal::too_many_of_caller
                        ? "You have as many sessions as your quota of sessions allows; end one first."
                        : "This address has half of the sessions that MCP_MAX_SESSIONS allows; end one first.";
    rpc_error error(rpc_code::server_error, sentence);
    auto reply = rpc_error_reply(all ? 503 : 429, nullptr, error);
    reply.with("Retry-After", "60");
    return reply;
}

}  // namespace

accepted_types parse_accept(const std::optional<std::string_view>& header)
{
    if (!header || trimmed(*header).empty()) return {};
    accepted_types accepted{.json = false, .events = false};
    bool without_json = false, without_events = false;
    for (std::string_view rest = *header; !rest.empty();) {
        auto part = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(part.size() + 1, rest.size()));
        const auto type = trimmed(part.substr(0, part.find(';')));
        auto is = [type](std::string_view name) { return equal_ignoring_case(type, name); };
        if (is_unwanted(part)) {
            without_json = without_json || is("application/json");
            without_events = without_events || is("text/event-stream");
            continue;
        }
        accepted.json = accepted.json || is("application/json") || is("application/*") || is("*/*");
        accepted.events = accepted.events || is("text/event-stream") || is("text/*") || is("*/*");
    }
    return {.json = accepted.json && !without_json, .events = accepted.events && !without_events};
}

http_reply rpc_error_reply(int status, const json::value& id, const rpc_error& error)
{
    http_reply reply;
    reply.status = status;
    reply.body = jsonrpc::encode_error(id, error);
    return reply;
}

std::optional<http_reply> decode_body(http_request& request, const settings& config, jsonrpc::payload& into)
{
    auto body = std::exchange(request.body, {});
    try {
        if (request.read_body && request.read_body->refusal) throw *request.read_body->refusal;
        into = request.read_body ? std::move(request.read_body->messages)
                                 : jsonrpc::decode(body, decode_limits_of(config));
        for (auto& message : into.messages)
            if (auto* call = std::get_if<jsonrpc::request>(&message))
                call->ids = {request.id, request.client_id(), request.origin};
    } catch (const jsonrpc::decode_error& e) {
        return rpc_error_reply(400, e.id, e);
    } catch (const rpc_error& e) {
        return rpc_error_reply(400, nullptr, e);
    }
    return std::nullopt;
}

void note_refused_call(const http_request& request, const jsonrpc::request& call)
{
    const caller who = caller_of(request);
    running_request refused;
    refused.who = &who;
    refused.ids = call.ids;
    refused.method = call.method;
    refused.target = target_of(call.params);
    refused.facts.error_type = "insufficient_scope";
    record_refusal(refused, rpc_error(rpc_code::server_error, "its credentials lack a scope"));
}

std::optional<http_reply> refuse_scopes(const http_request& request, const settings& config, const tool_registry& tools,
                                        const std::vector<jsonrpc::message>& messages)
{
    auto refused = refuse_scopes(request, config, needed_scopes(tools, messages));
    if (!refused) return refused;
    for (const auto& each : messages)
        if (const auto* call = std::get_if<jsonrpc::request>(&each)) note_refused_call(request, *call);
    return refused;
}

std::optional<http_reply> refuse_batch(const jsonrpc::payload& received, revision spoken)
{
    if (!received.batch || spoken == revision::v2025_03_26) return std::nullopt;
    rpc_error error(rpc_code::invalid_request,
                    "Batches are part of revision 2025-03-26 only; send one message at a time.");
    return rpc_error_reply(400, nullptr, error);
}

http_reply session_not_found(const std::string& more)
{
    rpc_error error(rpc_code::session_not_found,
                    "Session not found: it has ended or expired; send initialize again." + more);
    return rpc_error_reply(404, nullptr, error);
}

std::shared_ptr<http_session> open_session(const http_request& request, const settings& config, server_core& core,
                                           session_store& sessions, bool sse, http_reply& refusal)
{
    session_store::refusal why{};
    auto opened = sessions.create(request.principal, request.address, sse, why);
    if (!opened) {
        refusal = session_refused(why);
        return nullptr;
    }
    opened->state->who.profile = profile_of(request);
    opened->state->who.scopes = shown_scopes(request);
    opened->state->who.address = address_used(request, config);
    core.watch(opened->state);
    return opened;
}

}  // namespace cmcp
