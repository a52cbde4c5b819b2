#include "mcp/attempt_state.hpp"

#include "jsonrpc/rpc_error.hpp"
#include "mcp/params.hpp"

#include <chrono>

namespace cmcp {

namespace {

constexpr std::int64_t lifetime_seconds = 3600;

std::int64_t now()
{
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

std::string subject_of(const modern_request& incoming)
{
    const auto* name = incoming.params.if_contains("name");
    if (!name) name = incoming.params.if_contains("uri");
    json::array subject;
    subject.emplace_back(json::string(incoming.who.principal));
    subject.emplace_back(json::string(incoming.method));
    subject.push_back(name ? *name : json::value());
    return json::serialize(subject);
}

[[noreturn]] void refuse_attempt(const std::string& reason)
{
    throw rpc_error(rpc_code::invalid_params, "Invalid params: " + reason);
}

void open_state(attempt_state& state, const modern_request& incoming, const request_state& seal)
{
    const auto* sealed = incoming.params.if_contains("requestState");
    if (!sealed) return;
    if (!sealed->is_string()) refuse_attempt("`requestState` must be a string");
    const auto opened = seal.open(std::string_view(sealed->get_string()));
    if (opened.at("subject").as_string() != subject_of(incoming))
        refuse_attempt("`requestState` belongs to another request");
    if (now() > opened.at("until").as_int64()) refuse_attempt("`requestState` has expired: start over without it");
    state.tool_state = std::string(opened.at("state").as_string());
    state.answers = opened.at("answers").as_object();
}

}  // namespace

attempt_state attempt_state::from(const modern_request& incoming, const request_state& seal)
{
    attempt_state state;
    open_state(state, incoming, seal);
    if (!incoming.params.contains("inputResponses")) return state;
    for (const auto& member : required_object(incoming.params, "inputResponses")) {
        if (!member.value().is_object())
            refuse_attempt("`inputResponses." + std::string(member.key().substr(0, 100)) + "` must be an object");
        state.answers[member.key()] = member.value();
    }
    return state;
}

json::object input_required_result(const modern_request& incoming, const input_required& asked,
                                   const json::object& used, const request_state& seal)
{
    json::object result;
    result["resultType"] = "input_required";
    if (!asked.input_requests.empty()) result["inputRequests"] = asked.input_requests;
    if (asked.request_state.empty() && used.empty() && !asked.input_requests.empty()) return result;
    json::object state;
    state["subject"] = subject_of(incoming);
    state["until"] = now() + lifetime_seconds;
    state["state"] = asked.request_state;
    state["answers"] = used;
    result["requestState"] = seal.seal(state);
    return result;
}

}  // namespace cmcp
