#include "mcp/change_hub.hpp"

#include "jsonrpc/message.hpp"
#include "mcp/reserved_names.hpp"

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace cmcp {

namespace {

constexpr std::string_view task_changed = "notifications/tasks";
constexpr const char* resource_updated = "notifications/resources/updated";

outgoing acknowledgement(const change_filter& filter, const json::value& subscription)
{
    json::object meta;
    meta[reserved_name::subscription_id] = subscription;
    json::object params;
    params["notifications"] = filter.describe();
    params["_meta"] = std::move(meta);
    outgoing message;
    message.text = jsonrpc::encode_notification("notifications/subscriptions/acknowledged", params);
    return message;
}

}  // namespace

struct change_hub::watcher {
    std::weak_ptr<session> who;
    std::set<change> pending;
    bool telling = false;
};

struct change_hub::listener {
    listener(change_hub& owner, change_filter chosen, json::value id, std::shared_ptr<message_sink> to)
        : hub(owner), filter(std::move(chosen)), subscription(std::move(id)), sink(std::move(to)),
          wake(owner.executor_, asio::steady_timer::time_point::max())
    {
        hub.listeners_.insert(this);
    }
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    ~listener() { hub.listeners_.erase(this); }

    // What nobody can observe is left out.
    void observe_all(const observe_function& observe)
    {
        std::erase_if(filter.resources, [&](const std::string& uri) {
            observers.push_back(observe(uri, [this, uri] { add({resource_updated, uri}); }));
            return !observers.back();
        });
    }

    void add(const change& what)
    {
        pending.insert(what);
        wake.cancel();
    }

    awaitable<bool> acknowledge() { return sink->send(acknowledgement(filter, subscription)); }

    // False when the client is gone.
    awaitable<bool> tell_one()
    {
        auto message = hub.notification(pending.extract(pending.begin()).value(), subscription);
        if (message.text.empty()) co_return true;
        const bool connected = co_await sink->send(std::move(message));
        co_return connected;
    }

    change_hub& hub;
    change_filter filter;
    const json::value subscription;
    const std::shared_ptr<message_sink> sink;
    asio::steady_timer wake;
    std::set<change> pending;
    std::vector<std::shared_ptr<void>> observers;
};

bool change_filter::lets_through(const change& what) const
{
    if (what.method == "notifications/tools/list_changed") return tools;
    if (what.method == "notifications/prompts/list_changed") return prompts;
    return what.method == task_changed && tasks.contains(what.uri);
}

namespace {

json::array array_of(const std::set<std::string, std::less<>>& names)
{
    json::array list;
    for (const auto& name : names) list.emplace_back(json::string(name));
    return list;
}

}  // namespace

json::object change_filter::describe() const
{
    json::object described;
    if (tools) described["toolsListChanged"] = true;
    if (prompts) described["promptsListChanged"] = true;
    if (!resources.empty()) described["resourceSubscriptions"] = array_of(resources);
    if (!tasks.empty()) described["taskIds"] = array_of(tasks);
    return described;
}

change_hub::change_hub(asio::any_io_executor executor, task_details detail_of)
    : executor_(executor), detail_of_(std::move(detail_of)), tasks_(executor)
{
}

// A task is described as it stands when it is told, not when it changed; without text when it is gone.
outgoing change_hub::notification(const change& what, const json::value& subscription) const
{
    json::object params;
    if (what.method == task_changed) {
        auto found = detail_of_(what.uri);
        if (!found) return {};
        params = std::move(*found);
    } else if (!what.uri.empty()) {
        params["uri"] = what.uri;
    }
    if (!subscription.is_null()) {
        json::object meta;
        meta[reserved_name::subscription_id] = subscription;
        params["_meta"] = std::move(meta);
    }
    outgoing message;
    message.text = jsonrpc::encode_notification(what.method, params);
    return message;
}

void change_hub::publish(const change& what)
{
    for (auto* waiting : listeners_)
        if (waiting->filter.lets_through(what)) waiting->add(what);
    if (what.method == task_changed) return;    // sessions know no such tasks
    for (const auto& [key, watching] : watchers_) add(watching, what);
}

void change_hub::resource_changed(const std::weak_ptr<session>& whom, const std::string& uri)
{
    const auto who = whom.lock();
    const auto found = who ? watchers_.find(who.get()) : watchers_.end();
    if (found != watchers_.end()) add(found->second, {resource_updated, uri});
}

void change_hub::add(const std::shared_ptr<watcher>& whom, const change& what)
{
    const auto who = whom->who.lock();
    if (!who || !who->initialized || !who->general) return;
    whom->pending.insert(what);
    if (std::exchange(whom->telling, true)) return;
    tasks_.spawn("tell a session what changed", tell(whom));
}

awaitable<> change_hub::tell(std::shared_ptr<watcher> whom)
{
    while (!whom->pending.empty()) {
        const auto next = whom->pending.extract(whom->pending.begin()).value();
        std::shared_ptr<message_sink> sink;
        if (const auto who = whom->who.lock()) sink = who->general;
        if (!sink) continue;
        auto message = notification(next, nullptr);
        co_await sink->send(std::move(message));
    }
    whom->telling = false;
}

void change_hub::watch(std::weak_ptr<session> who)
{
    if (watchers_.size() >= cleanup_at_) forget_gone_sessions();
    const auto strong = who.lock();
    if (!strong) return;
    auto added = std::make_shared<watcher>();
    added->who = std::move(who);
    watchers_[strong.get()] = std::move(added);     // of a session that is gone, the address may come again
}

void change_hub::forget_gone_sessions()
{
    std::erase_if(watchers_, [](const auto& watching) { return watching.second->who.expired(); });
    cleanup_at_ = std::max<std::size_t>(64, watchers_.size() * 2);
}

awaitable<> change_hub::listen(change_filter filter, json::value subscription, observe_function observe,
                               std::shared_ptr<message_sink> sink)
{
    listener self(*this, std::move(filter), std::move(subscription), std::move(sink));
    self.observe_all(observe);
    observe = nullptr;
    auto acknowledged = self.acknowledge();
    bool connected = co_await std::move(acknowledged);
    for (const auto& id : self.filter.tasks) self.pending.insert({std::string(task_changed), id});
    while (connected && !closed_) {
        if (self.pending.empty()) {
            self.wake.expires_at(asio::steady_timer::time_point::max());
            co_await self.wake.async_wait(as_tuple);
        }
        if (!self.pending.empty()) connected = co_await self.tell_one();
    }
}

void change_hub::close()
{
    closed_ = true;
    for (auto* waiting : listeners_) waiting->wake.cancel();
}

}  // namespace cmcp
