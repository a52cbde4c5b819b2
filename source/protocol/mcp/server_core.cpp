#include "mcp/server_core.hpp"

#include "async/sized_work.hpp"
#include "async/task_group.hpp"
#include "async/turns.hpp"
#include "audit/sink.hpp"
#include "jsonrpc/json_size.hpp"
#include "mcp/call_by_name.hpp"
#include "mcp/catalogue.hpp"
#include "mcp/change_hub.hpp"
#include "mcp/legacy/legacy_channel.hpp"
#include "mcp/legacy/legacy_era.hpp"
#include "mcp/params.hpp"
#include "mcp/request_record.hpp"
#include "mcp/request_register.hpp"
#include "mcp/reserved_names.hpp"
#include "mcp/running_request.hpp"
#include "mcp/stateless_era.hpp"

#include <algorithm>

namespace cmcp {

namespace {

// A large result ends on the pool as well.
awaitable<outgoing> serialized_on_pool(outgoing message, std::string principal, blocking_pool& pool)
{
    auto write = [own = std::make_shared<outgoing>(std::move(message))] {
        own->serialize();
        return std::move(*own);
    };
    return pool.run(std::move(principal), std::move(write));
}

// Runs an admitted request; one that has its outcome already is only answered.
awaitable<> serve(era& rules, const catalogue& offered, std::shared_ptr<running_request> request, outcome done)
{
    if (request->life.now() != request_life::state::answering) {
        auto work = rules.result_of(request, offered);
        done = co_await run_request_to_end(request, std::move(work));
        if (!request->abandoned.empty()) {
            std::string why = "the request that asked has ended";
            co_await cancel_client_requests(request->reply, request->abandoned, std::move(why));
        }
        if (request->cancelled()) co_return;
        if (done.result) rules.complete(*request, *done.result);
    }
    request->registration.leave();
    auto message = answer_of(request->id, std::move(done));
    auto* const pool = offered.pool.lock().get();
    if (pool != nullptr && !request->reply->takes_values() && jsonrpc::is_larger(message.result, most_on_loop)) {
        std::string principal = request->who == nullptr ? std::string() : request->who->principal;
        message = co_await serialized_on_pool(std::move(message), std::move(principal), *pool);
    }
    co_await request->reply->send(std::move(message));
    request->life.on(request_life::input::sent);
}

// Nothing is done that could not be recorded.
std::string why_not_recorded(const running_request& request)
{
    return is_recorded(request.method) ? audit::refusal() : std::string();
}

const std::string& principal_of(const peer& from)
{
    return from.client ? from.client->who.principal : from.who.principal;
}

bool claims(const json::object& params)
{
    const auto* meta = meta_of(params);
    return meta && meta->contains(reserved_name::protocol_version);
}

}  // namespace

struct server_core::implementation : std::enable_shared_from_this<server_core::implementation> {
    implementation(asio::any_io_executor io, const core_limits& limits, std::shared_ptr<job_register> jobs)
        : executor(std::move(io)),
          requests(limits.requests_in_flight, limits.requests_per_session),
          changes(executor, [this](std::string id) { return detail_of(std::move(id)); }),
          tasks(std::move(jobs), limits.tasks),
          legacy(offered, changes),
          stateless(offered, changes, tasks, limits.shared_secret),
          running(executor)
    {
    }

    era& rules_of(const jsonrpc::request& incoming, const peer& from)
    {
        const bool modern =
            from.era == era_of_peer::both && (incoming.method == "server/discover" || claims(incoming.params));
        if (modern || from.era == era_of_peer::stateless) return stateless;
        return legacy;
    }

    // Calls go on after their start, so each is charged a little more; a long one has been read on the pool.
    std::weak_ptr<canceller> start_charged(jsonrpc::request incoming, peer from)
    {
        constexpr std::chrono::microseconds each(100), long_one(5000);
        const std::string payer = payer_of(from);
        const auto more = incoming.is_long ? long_one : each;
        const auto began = std::chrono::steady_clock::now();
        auto started = start(std::move(incoming), std::move(from), payer);
        requests.shares().charge(payer, std::chrono::steady_clock::now() - began + more);
        return started;
    }

    std::weak_ptr<canceller> start(jsonrpc::request incoming, peer from, const std::string& payer)
    {
        auto& rules = rules_of(incoming, from);
        if (incoming.method == "tools/call" && !from.who.code) mean_named_tool(offered.tools, incoming.params);
        const auto no_message = std::move(incoming.refusal);
        auto request = rules.make(std::move(incoming), from);
        request->keeps = shared_from_this();
        if (request->is_long) request->discard = discarding(principal_of(from));
        request->reply = std::move(from.reply);
        request->is_program = from.is_program;
        request->passed_on = from.passed_on;
        outcome done;
        std::string why_unrecorded;
        try {
            if (no_message) throw *no_message;
            rules.check(*request);
            why_unrecorded = why_not_recorded(*request);
            if (!why_unrecorded.empty()) throw rpc_error(rpc_code::server_busy, why_unrecorded);
            if (&rules == &stateless && request->method == listen_method)
                return stateless.listen(*request, requests, running, std::move(from.client));
            requests.admit(*request, std::move(from.client), payer);
            done.result = rules.at_once(*request);
        } catch (const rpc_error& refused) {
            done.error = std::make_unique<rpc_error>(refused);
            if (request->who) record_refusal(*request, refused, why_unrecorded.empty());
        }
        if (done.result || done.error) request->life.on(request_life::input::settle);
        running.spawn("request", serve(rules, offered, request, std::move(done)), request);
        return request;
    }

    // Long params are let go on the pool, as long as there is one.
    std::function<void(json::object)> discarding(std::string principal)
    {
        return [pool = offered.pool, own = executor, principal = std::move(principal)](json::object gone) {
            if (const auto to = pool.lock()) to->discard(own, principal, std::move(gone));
        };
    }

    void tell_clients(const std::string& list) { changes.publish({"notifications/" + list + "/list_changed", {}}); }

    void list_changed(const std::string& list)
    {
        tell_clients(list);
        if (offered.nodes != nullptr) offered.nodes->tell_list_changed(list);
    }

    awaitable<std::optional<json::object>> detail_of(std::string id) const
    {
        auto record = tasks.jobs().find(id);
        std::optional<json::object> detail;
        if (record) detail = co_await tasks.detail(std::move(*record));
        co_return detail;
    }

    asio::any_io_executor executor;
    catalogue offered;
    request_register requests;
    change_hub changes;
    task_view tasks;
    legacy_era legacy;
    stateless_era stateless;
    turns batches;
    task_group running;
    std::vector<std::function<void(const caller&)>> session_end;
};

server_core::server_core(asio::any_io_executor executor, server_identity identity, core_limits limits,
                         std::shared_ptr<job_register> jobs)
    : self_(std::make_shared<implementation>(std::move(executor), limits, std::move(jobs)))
{
    self_->offered.identity = std::move(identity);
    self_->offered.results = limits.results;
    self_->offered.format = limits.format;
    self_->offered.begin_call = std::move(limits.begin_call);
    self_->offered.end_call = std::move(limits.end_call);
    self_->offered.pool = std::move(limits.pool);
    auto* own = self_.get();
    auto publish = [weak = std::weak_ptr(self_)](const std::string& id) {
        if (const auto self = weak.lock()) self->changes.publish({"notifications/tasks", id});
    };
    self_->tasks.jobs().on_change(std::move(publish));
    self_->offered.tools.on_change([own] { own->list_changed("tools"); });
}

// Requests and calls that went on as tasks keep the implementation alive until they have ended.
server_core::~server_core()
{
    self_->tasks.jobs().stop();
    self_->requests.cancel_all();
}

tool_registry& server_core::tools() { return self_->offered.tools; }

const std::weak_ptr<blocking_pool>& server_core::pool() const { return self_->offered.pool; }

void server_core::instruct(std::function<std::string(const caller&)> text)
{
    self_->offered.instruct = std::move(text);
}

void server_core::add_resources(std::unique_ptr<resource_provider> provider)
{
    self_->offered.providers.push_back(std::move(provider));
}

void server_core::work_with(other_nodes& nodes) { self_->offered.nodes = &nodes; }

void server_core::keep_results(std::unique_ptr<result_keeper> keeper) { self_->offered.keeper = std::move(keeper); }

void server_core::keep_calls(std::unique_ptr<kept_calls> sandboxes)
{
    self_->offered.named_calls.keep_with(std::move(sandboxes));
}

void server_core::add_prompt(std::unique_ptr<prompt> item) { self_->offered.prompts.push_back(std::move(item)); }

void server_core::prompts_changed() { self_->list_changed("prompts"); }

void server_core::list_changed_elsewhere(const std::string& list) { self_->tell_clients(list); }

const std::string& payer_of(const peer& from)
{
    if (!from.payer.empty()) return from.payer;
    return principal_of(from);
}

bool claims_stateless(const jsonrpc::message& incoming)
{
    const auto* request = std::get_if<jsonrpc::request>(&incoming);
    const auto* notification = std::get_if<jsonrpc::notification>(&incoming);
    return (request && claims(request->params)) || (notification && claims(notification->params));
}

std::weak_ptr<canceller> server_core::start(jsonrpc::message incoming, peer from)
{
    if (auto* request = std::get_if<jsonrpc::request>(&incoming))
        return self_->start_charged(std::move(*request), std::move(from));
    if (!from.client) return {};
    from.client->last_used = std::chrono::steady_clock::now();
    if (const auto* notification = std::get_if<jsonrpc::notification>(&incoming))
        take_notification(*from.client, *notification);
    else
        take_response(*from.client, std::get<jsonrpc::response>(incoming));
    return {};
}

turns& server_core::batches() { return self_->batches; }

void server_core::watch(std::weak_ptr<session> who) { self_->changes.watch(std::move(who)); }

json::object server_core::state_of(const session& who) { return legacy_era::state_of(who); }

void server_core::take_up(const std::shared_ptr<session>& who, const json::object& state)
{
    watch(who);
    self_->legacy.take_up(who, state);
}

void server_core::on_session_end(std::function<void(const caller&)> ended)
{
    self_->session_end.push_back(std::move(ended));
}

void server_core::session_ended(const caller& who)
{
    for (const auto& tell : self_->session_end) tell(who);
}

void server_core::refuse_while(std::function<unsigned()> overload)
{
    self_->requests.refuse_while(std::move(overload));
}

void server_core::refuse_new_requests()
{
    self_->requests.stop();
    self_->tasks.jobs().stop();
    self_->changes.close();
}

std::size_t server_core::requests_in_flight() const { return self_->requests.size(); }

void server_core::cancel_all() { self_->requests.cancel_all(); }

std::vector<call_view> server_core::calls() const { return running_calls(self_->requests); }

const call_history& server_core::history() const { return self_->offered.history; }
call_history& server_core::history() { return self_->offered.history; }

void server_core::record_running_calls(std::chrono::milliseconds longer_than)
{
    const auto latest = std::chrono::steady_clock::now() - longer_than;
    for (auto* each : self_->requests.all())
        if (each->began != std::chrono::steady_clock::time_point() && each->began <= latest) record_running(*each);
}

bool server_core::end_call(const std::string& id, const std::string& why)
{
    for (auto* each : self_->requests.all()) {
        if (each->ids.own != id) continue;
        const auto request = each->shared_from_this();
        request->end_early(why);
        return true;
    }
    return false;
}

// A subscription is answered when the last change was sent to its listener.
awaitable<bool> server_core::requests_ended(std::chrono::milliseconds limit)
{
    const auto self = self_;
    const auto until = std::chrono::steady_clock::now() + limit;
    const auto left = [until] {
        const auto time =
            std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        return std::max(time, std::chrono::milliseconds(0));
    };
    bool ended = co_await self->running.wait_idle(limit);
    if (ended && self->requests.size() != 0) {
        co_await self->changes.idle(left());
        ended = co_await self->running.wait_idle(left());
    }
    co_return ended && self->requests.size() == 0;
}

awaitable<bool> server_core::tasks_ended(std::chrono::milliseconds limit)
{
    const auto self = self_;
    const bool ended = co_await self->tasks.jobs().wait_idle(limit);
    co_return ended;
}

}  // namespace cmcp
