#include "mcp/modern_dispatcher.hpp"

#include "async/event.hpp"
#include "mcp/answer.hpp"
#include "mcp/methods.hpp"
#include "mcp/params.hpp"
#include "mcp/reserved_names.hpp"
#include "mcp/task_view.hpp"
#include "mcp/tasks_extension.hpp"

#include <boost/asio/this_coro.hpp>

namespace cmcp {

namespace {

constexpr std::size_t most_subscriptions = 1000;
constexpr std::int64_t list_lifetime_ms = 60'000;

// SEP-2549: how long and for whom a result may be cached. Resources belong to their caller and change as tools run.
void add_cache_hints(json::object& result, std::string_view method)
{
    const bool of_caller = method == "resources/list" || method == "resources/read";
    const bool same_for_all = method == "server/discover" || method == "tools/list" || method == "prompts/list" ||
                              method == "resources/templates/list";
    if (!of_caller && !same_for_all) return;
    result["ttlMs"] = same_for_all ? list_lifetime_ms : 0;
    result["cacheScope"] = same_for_all ? "public" : "private";
}

void add_server_info(json::object& result, const server_identity& identity)
{
    auto& meta = result["_meta"];
    if (!meta.is_object()) meta = json::object();
    meta.get_object()[reserved_name::server_info] = describe_server(identity, revision::v2026_07_28);
}

bool flag(const json::object& filter, std::string_view name)
{
    const auto* value = filter.if_contains(name);
    return value && value->is_bool() && value->get_bool();
}

// The strings of one list of a SubscriptionFilter.
std::set<std::string, std::less<>> names_in(const json::object& filter, std::string_view member)
{
    std::set<std::string, std::less<>> names;
    const auto* list = filter.if_contains(member);
    if (!list) return names;
    const std::string sentence = "Invalid params: `notifications." + std::string(member) +
                                 "` must be an array of at most " + std::to_string(most_subscriptions) + " strings";
    if (!list->is_array() || list->get_array().size() > most_subscriptions)
        throw rpc_error(rpc_code::invalid_params, sentence);
    for (const auto& name : list->get_array()) {
        if (!name.is_string()) throw rpc_error(rpc_code::invalid_params, sentence);
        names.emplace(name.get_string());
    }
    return names;
}

}  // namespace

void modern_dispatcher::check(const std::string& method) const
{
    const bool known = method == "server/discover" || method == "subscriptions/listen" || find_shared_method(method) ||
                       find_task_method(method);
    if (!known || !offers(offered_, method)) refuse_method(method);
}

std::unique_ptr<request_register::entry> modern_dispatcher::begin(const modern_request& incoming,
                                                                  std::shared_ptr<canceller> ends)
{
    check(incoming.method);
    auto running = requests_.begin(incoming.method, incoming.id, nullptr, std::move(ends), incoming.ids);
    running->request()->trace = trace_of(&incoming.meta());
    running->request()->target = target_of(incoming.params);
    return running;
}

awaitable<> modern_dispatcher::request(std::shared_ptr<void>, std::string principal,
                                       std::shared_ptr<jsonrpc::request> incoming, std::shared_ptr<message_sink> reply,
                                       std::shared_ptr<canceller> ends)
{
    const json::value id(incoming->id, json::storage_ptr());  // not in the memory of the request
    std::shared_ptr<modern_request> request;
    std::unique_ptr<request_register::entry> running;
    outcome done;
    try {
        request = std::make_shared<modern_request>(std::move(principal), std::move(*incoming));
        incoming.reset();
        running = begin(*request, std::move(ends));
    } catch (const rpc_error& refused) {
        done.error = std::make_unique<rpc_error>(refused);
        if (request) record_refusal(request->ids, request->method, request->params, {request, &request->who}, refused);
    }
    if (running) {
        auto in_flight = running->request();
        const bool listens = request->method == "subscriptions/listen";
        if (!listens) in_flight->who = {request, &request->who};
        auto work = listens ? listen(std::move(request), reply) : execute(std::move(request), reply, in_flight);
        done = co_await run_request_to_end(in_flight, std::move(work));
        if (in_flight->cancelled()) co_return;
    }
    running.reset();
    co_await send_answer(std::move(reply), id, std::move(done));
}

void modern_dispatcher::start(task_group& requests, std::shared_ptr<void> keeps, std::string principal,
                              std::shared_ptr<jsonrpc::request> incoming, std::shared_ptr<message_sink> reply,
                              std::shared_ptr<canceller> ends)
{
    if (incoming->method == "subscriptions/listen")
        return hold(std::move(keeps), std::move(principal), std::move(incoming), std::move(reply), std::move(ends));
    auto work = request(std::move(keeps), std::move(principal), std::move(incoming), std::move(reply), ends);
    requests.spawn("request", std::move(work), std::move(ends));
}

// A subscription waits for hours: nothing of its request is kept meanwhile.
void modern_dispatcher::hold(std::shared_ptr<void> keeps, std::string principal,
                             std::shared_ptr<jsonrpc::request> incoming, std::shared_ptr<message_sink> reply,
                             std::shared_ptr<canceller> ends)
{
    const json::value id(incoming->id, json::storage_ptr());
    std::shared_ptr<held_subscription> held;
    outcome refusal;
    try {
        const auto request = std::make_shared<modern_request>(std::move(principal), std::move(*incoming));
        auto running = begin(*request, std::move(ends));
        held = std::make_shared<held_subscription>(std::move(keeps), answers_, changes_, std::move(running), reply);
        auto on_end = [this, id, weak = std::weak_ptr(held)] {
            if (const auto self = weak.lock()) self->finish(id, end_of_subscription(id));
        };
        held->begin(filter_of(*request), id, observer_for(request), std::move(on_end));
        return;
    } catch (const rpc_error& refused) {
        refusal.error = std::make_unique<rpc_error>(refused);
    }
    if (held)
        held->finish(id, std::move(refusal));
    else
        answers_.spawn("response", send_answer(std::move(reply), id, std::move(refusal)));
}

awaitable<json::object> modern_dispatcher::execute(std::shared_ptr<modern_request> incoming,
                                                   std::shared_ptr<message_sink> reply,
                                                   std::shared_ptr<running_request> running)
{
    json::object result;
    if (incoming->method == "server/discover")
        result = discover();
    else if (const auto function = find_task_method(incoming->method))
        result = function(tasks_, *incoming);
    else
        result = co_await calls_.run(incoming, std::move(reply), std::move(running));
    if (!result.contains("resultType")) {
        result["resultType"] = "complete";
        add_cache_hints(result, incoming->method);
    }
    add_server_info(result, offered_.identity);
    co_return result;
}

// For who awaits the end of the request.
awaitable<json::object> modern_dispatcher::listen(std::shared_ptr<modern_request> incoming,
                                                  std::shared_ptr<message_sink> reply)
{
    event over;
    const json::value id(incoming->id, json::storage_ptr());
    bool ended = false;
    auto on_end = [&] {
        ended = true;
        over.notify();
    };
    struct listening {
        change_hub& to;
        std::shared_ptr<change_listener> who;
        ~listening() { to.forget(who); }
    } held{changes_, changes_.listen(filter_of(*incoming), id, observer_for(incoming), std::move(reply), on_end)};
    incoming.reset();
    while (!ended) co_await over.wait();
    auto done = end_of_subscription(id);
    co_return std::move(*done.result);
}

change_hub::observe_function modern_dispatcher::observer_for(const std::shared_ptr<modern_request>& incoming) const
{
    return [this, incoming](const std::string& uri, const std::function<void()>& changed) {
        return offered_.observe(incoming->who, uri, changed);
    };
}

outcome modern_dispatcher::end_of_subscription(const json::value& id) const
{
    json::object meta;
    meta[reserved_name::subscription_id] = id;
    outcome done;
    auto& result = done.result.emplace();
    result["_meta"] = std::move(meta);
    result["resultType"] = "complete";
    add_server_info(result, offered_.identity);
    return done;
}

change_filter modern_dispatcher::filter_of(const modern_request& incoming) const
{
    const auto& wanted = required_object(incoming.params, "notifications");
    change_filter filter;
    filter.tools = flag(wanted, "toolsListChanged");
    filter.prompts = flag(wanted, "promptsListChanged") && !offered_.prompts.empty();
    if (!offered_.providers.empty()) filter.resources = names_in(wanted, "resourceSubscriptions");
    for (const auto& id : names_in(wanted, "taskIds")) {
        require_tasks_extension(incoming.who);
        const auto task = tasks_.jobs().find(id);
        if (task && task->owner == incoming.who.principal) filter.tasks.insert(id);
    }
    return filter;
}

json::object modern_dispatcher::discover() const
{
    json::array versions;
    versions.emplace_back(to_string(revision::v2026_07_28));
    json::object result;
    result["supportedVersions"] = std::move(versions);
    result["capabilities"] = capabilities_of(offered_, revision::v2026_07_28);
    if (!offered_.identity.instructions.empty()) result["instructions"] = offered_.identity.instructions;
    return result;
}

}  // namespace cmcp
