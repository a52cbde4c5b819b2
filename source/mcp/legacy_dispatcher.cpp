#include "mcp/legacy_dispatcher.hpp"

#include "jsonrpc/write_json.hpp"
#include "log/request_id.hpp"
#include "mcp/answer.hpp"
#include "mcp/legacy_channel.hpp"
#include "mcp/legacy_methods.hpp"
#include "mcp/methods.hpp"
#include "mcp/params.hpp"

namespace cmcp {

namespace {

constexpr int most_rounds = 16;

// A tool written for the stateless era asks by throwing; here its questions are put to the client one by one and the
// tool is called again with the answers.
awaitable<> ask_for_inputs(request_io& io, input_required& asked, method_call& call)
{
    for (const auto& member : asked.input_requests) {
        const auto& question = member.value().as_object();
        std::string key(member.key());
        std::string method(question.at("method").as_string());
        auto params = optional_object(question, "params");
        json::object answer = co_await io.ask(key, std::move(method), std::move(params));
        call.input_responses[key] = std::move(answer);
    }
    call.request_state = asked.request_state;
}

}  // namespace

void legacy_dispatcher::check(const session& who, const std::string& method) const
{
    const bool known = method == "initialize" || find_legacy_method(method) || find_shared_method(method);
    if (!known || !offers(offered_, method)) refuse_method(method);
    if (!who.initialized && method != "initialize" && method != "ping")
        throw rpc_error(rpc_code::invalid_request,
                        "Invalid request: the session is not initialized: send `initialize` before " + method);
}

awaitable<> legacy_dispatcher::request(std::shared_ptr<void>, std::shared_ptr<session> who,
                                       std::shared_ptr<jsonrpc::request> incoming, std::shared_ptr<message_sink> reply,
                                       std::shared_ptr<canceller> ends)
{
    std::unique_ptr<request_register::entry> running;
    outcome done;
    if (incoming->ids.own.empty()) incoming->ids.own = log::next_id('r');
    try {
        check(*who, incoming->method);
        running = requests_.begin(incoming->method, incoming->id, who, std::move(ends), incoming->ids);
        // Not cancellable (2025-11-25, "Cancellation"): done at once.
        if (incoming->method == "initialize") done.result = initialize(*who, incoming->params);
    } catch (const rpc_error& refused) {
        done.error = std::make_unique<rpc_error>(refused);
        record_refusal(incoming->ids, incoming->method, incoming->params, {who, &who->who}, refused);
    }
    if (running && !done.result && !done.error) {
        auto request = running->request();
        request->trace = trace_of(meta_of(incoming->params));
        request->target = target_of(incoming->params);
        request->who = {who, &who->who};
        auto work = execute(who, incoming, reply, request);
        done = co_await run_request_to_end(request, std::move(work));
        if (!request->abandoned.empty()) co_await take_back_questions(reply, request->abandoned);
        who->last_used = std::chrono::steady_clock::now();
        if (request->cancelled()) co_return;
    }
    running.reset();
    co_await send_answer(std::move(reply), incoming->id, std::move(done));
}

awaitable<json::object> legacy_dispatcher::execute(std::shared_ptr<session> who,
                                                   std::shared_ptr<jsonrpc::request> incoming,
                                                   std::shared_ptr<message_sink> reply,
                                                   std::shared_ptr<running_request> running)
{
    if (const auto function = find_legacy_method(incoming->method))
        co_return function({who, incoming->params, offered_, changes_});
    std::shared_ptr<legacy_channel::question_ids> abandoned(running, &running->abandoned);
    legacy_channel io(who, std::move(reply), meta_of(incoming->params), std::move(abandoned));
    method_call call{who->who, incoming->params, io, *running, {}, {}};
    const auto function = find_shared_method(incoming->method);
    for (int round = 0; round < most_rounds; ++round) {
        input_required asked;
        try {
            json::object result = co_await function(offered_, call);
            co_return result;
        } catch (const input_required& needed) {
            asked = needed;
        }
        co_await ask_for_inputs(io, asked, call);
    }
    throw rpc_error(rpc_code::internal_error, "the request asked the client too many times");
}

json::object legacy_dispatcher::initialize(session& who, const json::object& params) const
{
    if (who.initialized)
        throw rpc_error(rpc_code::invalid_request, "Invalid request: the session is initialized already");
    const auto requested = parse_revision(required_string(params, "protocolVersion"));
    who.who.client_capabilities = optional_object(params, "capabilities");
    who.who.client_info = optional_object(params, "clientInfo");
    who.who.protocol = requested && !is_modern(*requested) ? *requested : revision::v2025_11_25;
    who.initialized = true;
    json::object result;
    result["protocolVersion"] = to_string(who.who.protocol);
    result["capabilities"] = capabilities_of(offered_, who.who.protocol);
    result["serverInfo"] = describe_server(offered_.identity, who.who.protocol);
    if (!offered_.identity.instructions.empty()) result["instructions"] = offered_.identity.instructions;
    return result;
}

void legacy_dispatcher::notification(session& who, const jsonrpc::notification& incoming) const
{
    if (incoming.method != "notifications/cancelled") return;
    const auto* id = incoming.params.if_contains("requestId");
    if (!id) return;
    const auto running = who.in_flight.find(jsonrpc::write_json(*id));
    if (running == who.in_flight.end()) return;
    const auto ends = running->second;
    ends->cancel();
}

void legacy_dispatcher::response(session& who, const jsonrpc::response& incoming) const
{
    const auto* id = incoming.id.if_int64();
    const auto waiting = id ? who.asked.find(*id) : who.asked.end();
    if (waiting == who.asked.end()) return;
    const auto callback = waiting->second;
    static const json::object no_members;
    const auto* result = incoming.result.if_object();
    callback(incoming.error ? nullptr : result ? result : &no_members, incoming.error ? &*incoming.error : nullptr);
}

}  // namespace cmcp
