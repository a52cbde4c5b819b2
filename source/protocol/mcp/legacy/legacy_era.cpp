#include "mcp/legacy/legacy_era.hpp"

#include "jsonrpc/absent.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "log/log.hpp"
#include "mcp/client_meta.hpp"
#include "mcp/icons.hpp"
#include "mcp/legacy/legacy_channel.hpp"
#include "mcp/methods.hpp"
#include "mcp/params.hpp"
#include "mcp/request_io.hpp"
#include "mcp/reserved_names.hpp"
#include "mcp/server_core.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace cmcp {

namespace {

constexpr int most_rounds = 64;
constexpr std::chrono::minutes patience_elsewhere{1};
constexpr std::size_t most_subscriptions_of_session = 1000;
constexpr std::size_t longest_uri = 8192;

// The objects that the methods act on.
struct legacy_call {
    std::shared_ptr<session> who;
    const json::object& params;
    const catalogue& offered;
    change_hub& changes;
};

void tell_change(const session& who)
{
    if (who.on_change) who.on_change();
}

using legacy_function = json::object (*)(const legacy_call& call);

json::object ping(const legacy_call&) { return {}; }

json::object set_level(const legacy_call& call)
{
    const auto* level = call.params.if_contains("level");
    call.who->log_threshold = severity_from(level ? *level : json::value(), "level");
    tell_change(*call.who);
    return {};
}

// False: there is no such resource.
bool begin_to_observe(const std::shared_ptr<session>& who, std::string uri, const catalogue& offered,
                      change_hub& changes)
{
    const auto changed = [&changes, whom = std::weak_ptr(who), uri] { changes.resource_changed(whom, uri); };
    auto observer = offered.observe(who->who, uri, changed);
    if (!observer) return false;
    who->subscribed.emplace(std::move(uri), std::move(observer));
    return true;
}

json::object subscribe(const legacy_call& call)
{
    auto uri = required_string(call.params, "uri");
    if (uri.size() > longest_uri) throw rpc_error(rpc_code::invalid_params, "Invalid params: `uri` is too long");
    auto& subscribed = call.who->subscribed;
    if (subscribed.contains(uri)) return {};
    if (subscribed.size() >= most_subscriptions_of_session)
        throw rpc_error(rpc_code::server_error, "this session has " + std::to_string(most_subscriptions_of_session) +
                                                    " subscriptions: unsubscribe from some first");
    if (!begin_to_observe(call.who, uri, call.offered, call.changes)) refuse_resource(uri, call.who->who.protocol);
    tell_change(*call.who);
    return {};
}

json::object unsubscribe(const legacy_call& call)
{
    call.who->subscribed.erase(required_string(call.params, "uri"));
    tell_change(*call.who);
    return {};
}

struct legacy_row {
    std::string_view name;
    legacy_function function;
};

constexpr std::array<legacy_row, 4> legacy_table{{
    {"ping", ping},
    {"logging/setLevel", set_level},
    {"resources/subscribe", subscribe},
    {"resources/unsubscribe", unsubscribe},
}};

// The methods that only the older revisions know and that act on the session; null for others.
legacy_function find_legacy_method(std::string_view name)
{
    for (const auto& legacy_row : legacy_table)
        if (legacy_row.name == name) return legacy_row.function;
    return nullptr;
}

class legacy_request final : public running_request {
public:
    legacy_request(jsonrpc::request incoming, std::shared_ptr<session> of)
        : running_request(std::move(incoming), &of->who), from(std::move(of))
    {
    }
    ~legacy_request() override { from->last_used = std::chrono::steady_clock::now(); }

    std::shared_ptr<session> from;
    std::optional<legacy_channel> channel;
    int rounds = 0;
    bool elsewhere = false;  ///< another node asks, whose call may not wait for the answer
};

legacy_request& as_legacy(running_request& request) { return static_cast<legacy_request&>(request); }

void prepare(legacy_request& request)
{
    if (request.context) return;
    request.channel.emplace(request.from, request.reply, meta_of(request.params), request.abandoned);
    request.channel->serve(request.ids.own);
    request.context.emplace(tool_context{*request.who, *request.channel, request.ids.own, {}, {}});
}

json::object params_elsewhere(const legacy_request& request)
{
    auto params = request.params;
    auto& meta = params["_meta"];
    if (!meta.is_object()) meta.emplace_object();
    auto& members = meta.get_object();
    declare_client(members, request.who->client_capabilities, request.who->client_info);
    members[reserved_name::log_level] = to_string(request.from->log_threshold);
    if (!request.context->input_responses.empty()) params["inputResponses"] = request.context->input_responses;
    if (!request.context->request_state.empty()) params["requestState"] = request.context->request_state;
    return params;
}

// Without what results of the older revisions do not have.
json::object as_before(json::object result)
{
    for (const auto* later : {"resultType", "ttlMs", "cacheScope"}) result.erase(later);
    auto* meta = result.if_contains("_meta");
    if (meta == nullptr || !meta->is_object()) return result;
    meta->get_object().erase(reserved_name::server_info);
    if (meta->get_object().empty()) result.erase("_meta");
    return result;
}

}  // namespace

std::shared_ptr<running_request> legacy_era::make(jsonrpc::request incoming, const peer& from) const
{
    from.client->last_used = std::chrono::steady_clock::now();
    return std::make_shared<legacy_request>(std::move(incoming), from.client);
}

void legacy_era::check(running_request& request) const
{
    const auto& method = request.method;
    const bool known = method == "initialize" || find_legacy_method(method) || find_shared_method(method);
    if (!known || !offers(offered_, method)) refuse_method(method);
    if (!as_legacy(request).from->initialized && method != "initialize" && method != "ping")
        throw rpc_error(rpc_code::invalid_request,
                        "Invalid request: the session is not initialized: send `initialize` before " + method);
}

// Not cancellable (2025-11-25, "Cancellation"), and what a client sends right behind it finds the session initialized.
std::optional<json::object> legacy_era::at_once(running_request& request)
{
    if (request.method != "initialize") return std::nullopt;
    return initialize(*as_legacy(request).from, request.params);
}

awaitable<json::object> legacy_era::attempt(running_request& request)
{
    auto& legacy = as_legacy(request);
    if (const auto function = find_legacy_method(request.method))
        return finished(function({legacy.from, request.params, offered_, changes_}));
    prepare(legacy);
    return find_shared_method(request.method)(offered_, request);
}

// There it is a request of the stateless era, which asks the client by its result.
awaitable<json::object> legacy_era::attempt_on(running_request& request, std::string node)
{
    auto& legacy = as_legacy(request);
    prepare(legacy);
    legacy.elsewhere = true;
    auto params = params_elsewhere(legacy);
    json::object result = co_await call_elsewhere(offered_, request, std::move(node), std::move(params));
    if (view_of(result, "resultType") == "input_required") {
        input_required needed;
        needed.input_requests = object_of(result, "inputRequests");
        needed.request_state = text_of(result, "requestState");
        throw needed;
    }
    co_return as_before(std::move(result));
}

// A tool written for the stateless era asks by throwing; here its requests are sent to the client one by one and the
// tool is called again with the answers.
awaitable<std::optional<json::object>> legacy_era::ask(running_request& request, input_required needed)
{
    for (const auto& member : needed.input_requests) {
        const auto& request_to_client = member.value().as_object();
        std::string key(member.key());
        std::string method(request_to_client.at("method").as_string());
        auto params = optional_object(request_to_client, "params");
        auto& io = request.io();
        if (as_legacy(request).elsewhere && io.can_ask(method, params)) {
            auto answer = co_await io.ask_meanwhile(key, std::move(method), std::move(params), patience_elsewhere);
            if (answer) request.context->input_responses[key] = std::move(*answer);
            continue;
        }
        json::object answer = co_await io.ask(key, std::move(method), std::move(params));
        request.context->input_responses[key] = std::move(answer);
    }
    request.context->request_state = needed.request_state;
    if (++as_legacy(request).rounds == most_rounds)
        throw rpc_error(rpc_code::internal_error, "the request asked the client too many times");
    co_return std::nullopt;
}

json::object legacy_era::initialize(session& from, const json::object& params) const
{
    if (from.initialized)
        throw rpc_error(rpc_code::invalid_request, "Invalid request: the session is initialized already");
    const auto requested = parse_revision(required_string(params, "protocolVersion"));
    from.who.client_capabilities = jsonrpc::without_nulls(optional_object(params, "capabilities"));
    from.who.client_info = optional_object(params, "clientInfo");
    from.who.protocol = requested && !is_modern(*requested) ? *requested : revision::v2025_11_25;
    from.initialized = true;
    tell_change(from);
    json::object result;
    result["protocolVersion"] = to_string(from.who.protocol);
    result["capabilities"] = capabilities_of(offered_, from.who.protocol);
    auto described = describe_server(offered_.identity, from.who.protocol);
    if (from.who.protocol >= revision::v2025_11_25) described["icons"] = server_icons();
    result["serverInfo"] = std::move(described);
    if (const auto text = offered_.instructions_for(from.who); !text.empty()) result["instructions"] = text;
    return result;
}

json::object legacy_era::state_of(const session& who)
{
    json::array subscribed;
    for (const auto& [uri, observer] : who.subscribed) subscribed.emplace_back(uri);
    return {{"revision", to_string(who.who.protocol)},
            {"capabilities", who.who.client_capabilities},
            {"client", who.who.client_info},
            {"log_level", to_string(who.log_threshold)},
            {"subscriptions", std::move(subscribed)}};
}

// A resource that cannot be observed any more is left out; the session goes on.
void legacy_era::take_up(const std::shared_ptr<session>& who, const json::object& state) const
{
    const auto protocol = parse_revision(view_of(state, "revision"));
    if (!protocol || is_modern(*protocol)) throw rpc_error(rpc_code::internal_error, "no revision with sessions");
    who->who.protocol = *protocol;
    who->who.client_capabilities = object_of(state, "capabilities");
    who->who.client_info = object_of(state, "client");
    const auto* level = state.if_contains("log_level");
    who->log_threshold = severity_from(level ? *level : json::value(), "log_level");
    who->initialized = true;
    const auto* subscriptions = state.if_contains("subscriptions");
    if (subscriptions == nullptr || !subscriptions->is_array()) return;
    for (const auto& uri : subscriptions->get_array()) {
        if (!uri.is_string()) continue;
        try {
            begin_to_observe(who, std::string(uri.get_string()), offered_, changes_);
        } catch (const rpc_error& refused) {
            log::info("subscription_lost", {{"session", who->who.session_tag}, {"reason", refused.what()}});
        }
    }
}

void take_notification(session& from, const jsonrpc::notification& incoming)
{
    if (incoming.method != "notifications/cancelled") return;
    const auto* named = incoming.params.if_contains("requestId");
    if (!named) return;
    json::value id = *named;
    jsonrpc::make_whole(id);
    const auto running = std::find_if(from.in_flight.begin(), from.in_flight.end(),
                                      [name = jsonrpc::write_json(id)](const running_request* request) {
                                          return jsonrpc::write_json(request->id) == name;
                                      });
    if (running == from.in_flight.end()) return;
    const auto request = (*running)->shared_from_this();
    request->cancel();
}

void take_response(session& from, const jsonrpc::response& incoming)
{
    const auto* id = incoming.id.if_int64();
    const auto waiting = id ? from.open_requests.find(*id) : from.open_requests.end();
    if (waiting == from.open_requests.end()) return;
    const auto callback = waiting->second;
    static const json::object no_members;
    const auto* result = incoming.result.if_object();
    callback(incoming.error ? nullptr : result ? result : &no_members, incoming.error ? &*incoming.error : nullptr);
}

}  // namespace cmcp
