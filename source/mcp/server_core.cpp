#include "mcp/server_core.hpp"

#include "mcp/catalogue.hpp"
#include "mcp/change_hub.hpp"
#include "mcp/header_check.hpp"
#include "mcp/legacy_dispatcher.hpp"
#include "mcp/modern_dispatcher.hpp"
#include "mcp/params.hpp"
#include "mcp/request_register.hpp"
#include "mcp/reserved_names.hpp"

namespace cmcp {

namespace {

awaitable<> nothing() { co_return; }

}  // namespace

struct server_core::implementation : std::enable_shared_from_this<server_core::implementation> {
    implementation(asio::any_io_executor executor, const core_limits& limits, std::shared_ptr<job_register> jobs)
        : requests(limits.requests_in_flight, limits.requests_per_session),
          changes(executor, [this](const std::string& id) { return detail_of(id); }),
          tasks(std::move(jobs), limits.tasks),
          legacy(offered, requests, changes),
          modern(executor, offered, requests, changes, tasks, [this] { return shared_from_this(); })
    {
    }

    std::optional<json::object> detail_of(const std::string& id) const
    {
        const auto record = tasks.jobs().find(id);
        if (!record) return std::nullopt;
        return tasks.detail(*record);
    }

    catalogue offered;
    request_register requests;
    change_hub changes;
    task_view tasks;
    legacy_dispatcher legacy;
    modern_dispatcher modern;
};

server_core::server_core(asio::any_io_executor executor, server_identity identity, core_limits limits,
                         std::shared_ptr<job_register> jobs)
    : self_(std::make_shared<implementation>(std::move(executor), limits, std::move(jobs)))
{
    self_->offered.identity = std::move(identity);
    auto* changes = &self_->changes;
    auto publish = [weak = std::weak_ptr(self_)](const std::string& id) {
        if (const auto self = weak.lock()) self->changes.publish({"notifications/tasks", id});
    };
    self_->tasks.jobs().on_change(std::move(publish));
    self_->offered.tools.on_change([changes] { changes->publish({"notifications/tools/list_changed", {}}); });
}

// Calls that went on as tasks keep the implementation alive until they have ended.
server_core::~server_core() { self_->tasks.jobs().stop(); }

tool_registry& server_core::tools() { return self_->offered.tools; }

void server_core::instruct(std::string text) { self_->offered.identity.instructions = std::move(text); }

void server_core::add_resources(std::unique_ptr<resource_provider> provider)
{
    self_->offered.providers.push_back(std::move(provider));
}

void server_core::add_prompt(std::unique_ptr<prompt> item) { self_->offered.prompts.push_back(std::move(item)); }

void server_core::prompts_changed() { self_->changes.publish({"notifications/prompts/list_changed", {}}); }

awaitable<> server_core::handle(std::shared_ptr<session> who, jsonrpc::message incoming,
                                std::shared_ptr<message_sink> reply, std::shared_ptr<canceller> ends)
{
    who->last_used = std::chrono::steady_clock::now();
    if (auto* request = std::get_if<jsonrpc::request>(&incoming)) {
        auto shared = std::make_shared<jsonrpc::request>(std::move(*request));
        return self_->legacy.request(self_, std::move(who), std::move(shared), std::move(reply), std::move(ends));
    }
    if (const auto* notification = std::get_if<jsonrpc::notification>(&incoming))
        self_->legacy.notification(*who, *notification);
    else
        self_->legacy.response(*who, std::get<jsonrpc::response>(incoming));
    return nothing();
}

awaitable<> server_core::handle_modern(std::string principal, jsonrpc::request incoming,
                                       std::shared_ptr<message_sink> reply)
{
    auto shared = std::make_shared<jsonrpc::request>(std::move(incoming));
    return self_->modern.request(self_, std::move(principal), std::move(shared), std::move(reply), nullptr);
}

void server_core::start_modern(task_group& requests, std::string principal, jsonrpc::request incoming,
                               std::shared_ptr<message_sink> reply, std::shared_ptr<canceller> ends)
{
    auto shared = std::make_shared<jsonrpc::request>(std::move(incoming));
    self_->modern.start(requests, self_, std::move(principal), std::move(shared), std::move(reply), std::move(ends));
}

bool server_core::claims_modern(const jsonrpc::message& incoming)
{
    const json::object* params = nullptr;
    if (const auto* request = std::get_if<jsonrpc::request>(&incoming)) params = &request->params;
    if (const auto* notification = std::get_if<jsonrpc::notification>(&incoming)) params = &notification->params;
    const auto* meta = params ? meta_of(*params) : nullptr;
    return meta && meta->contains(reserved_name::protocol_version);
}

std::optional<rpc_error> server_core::check_headers(
    const jsonrpc::request& incoming,
    const std::function<std::optional<std::string_view>(std::string_view)>& header) const
{
    try {
        check_request_headers(self_->offered.tools, incoming, header);
    } catch (const rpc_error& mismatch) {
        return mismatch;
    }
    return std::nullopt;
}

void server_core::watch(std::weak_ptr<session> who) { self_->changes.watch(std::move(who)); }

void server_core::refuse_while(std::function<bool()> overloaded)
{
    self_->requests.refuse_while(std::move(overloaded));
}

void server_core::refuse_new_requests()
{
    self_->requests.stop();
    self_->tasks.jobs().stop();
    self_->changes.close();
}

std::size_t server_core::requests_in_flight() const { return self_->requests.size(); }

void server_core::cancel_all() { self_->requests.cancel_all(); }

awaitable<bool> server_core::tasks_ended(std::chrono::milliseconds limit)
{
    const auto kept = self_;
    const bool ended = co_await kept->tasks.jobs().wait_idle(limit);
    co_return ended;
}

}  // namespace cmcp
