#include "mcp/change_hub.hpp"

#include "mcp/reserved_names.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace cmcp {

namespace {

constexpr std::size_t most_begun_at_once = 200;

outgoing acknowledgement(const change_filter& filter, const json::value& subscription)
{
    json::object meta;
    meta[reserved_name::subscription_id] = subscription;
    outgoing message;
    message.method = "notifications/subscriptions/acknowledged";
    message.params["notifications"] = filter.describe();
    message.params["_meta"] = std::move(meta);
    return message;
}

}  // namespace

struct change_hub::watcher {
    std::weak_ptr<session> who;
    std::set<change> pending;
    bool telling = false;
};

change_hub::change_hub(asio::any_io_executor executor, task_details detail_of)
    : detail_of_(std::move(detail_of)), tasks_(executor)
{
}

// A task is described as it stands when the message is sent, not when it changed.
awaitable<std::optional<json::object>> change_hub::detail_for(std::shared_ptr<change_listener> whom, change what) const
{
    std::optional<json::object> detail;
    if (what.method != task_changed) co_return detail;
    const auto heard = whom->details.find(what.uri);
    if (heard != whom->details.end())
        detail = heard->second;
    else
        detail = co_await detail_of_(std::move(what.uri));
    co_return detail;
}

// Without a method for a task that is gone.
outgoing change_hub::notification(const change& what, const json::value& subscription,
                                  std::optional<json::object> task) const
{
    outgoing message;
    if (what.method == task_changed) {
        if (!task) return {};
        message.params = std::move(*task);
    } else if (!what.uri.empty()) {
        message.params["uri"] = what.uri;
    }
    if (!subscription.is_null()) {
        json::object meta;
        meta[reserved_name::subscription_id] = subscription;
        message.params["_meta"] = std::move(meta);
    }
    message.method = what.method;
    return message;
}

void change_hub::publish(const change& what)
{
    const auto listening = listeners_;  // a copy: whose client is gone is erased
    for (const auto& whom : listening)
        if (whom->filter.lets_through(what)) add(whom, what);
    if (what.method == task_changed) return;  // sessions know no such tasks
    for (const auto& [key, watching] : watchers_) add(watching, what);
}

void change_hub::resource_changed(const std::weak_ptr<session>& whom, const std::string& uri)
{
    const auto who = whom.lock();
    const auto watching = who ? watchers_.find(who.get()) : watchers_.end();
    if (watching != watchers_.end()) add(watching->second, {resource_updated, uri});
}

void change_hub::add(const std::shared_ptr<watcher>& whom, const change& what)
{
    const auto who = whom->who.lock();
    if (!who || !who->initialized || !who->general) return;
    whom->pending.insert(what);
    if (std::exchange(whom->telling, true)) return;
    begin([this, whom] { return tell(whom); });
}

awaitable<> change_hub::tell(std::shared_ptr<watcher> whom)
{
    while (!whom->pending.empty()) {
        const auto next = whom->pending.extract(whom->pending.begin()).value();
        std::shared_ptr<message_sink> sink;
        if (const auto who = whom->who.lock()) sink = who->general;
        if (!sink) continue;
        auto message = notification(next, nullptr, std::nullopt);
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
    watchers_[strong.get()] = std::move(added);  // of a session that is gone, the address may come again
}

void change_hub::forget_gone_sessions()
{
    std::erase_if(watchers_, [](const auto& watching) { return watching.second->who.expired(); });
    cleanup_at_ = std::max<std::size_t>(64, watchers_.size() * 2);
}

std::shared_ptr<change_listener> change_hub::listen(change_filter filter, json::value subscription,
                                                    const observe_function& observe, std::shared_ptr<message_sink> sink,
                                                    std::function<void()> on_end)
{
    auto listener = std::make_shared<change_listener>(std::move(filter), std::move(subscription), std::move(sink),
                                                      std::move(on_end));
    listener->observe_all(observe, [this, weak = std::weak_ptr(listener)](const change& what) {
        if (const auto whom = weak.lock()) add(whom, what);
    });
    for (const auto& id : listener->filter.tasks) listener->pending.insert({task_changed, id});
    listeners_.insert(listener);
    listener->telling = true;
    tasks_.spawn("tell a listener what changed", tell(listener));
    return listener;
}

void change_hub::forget(const std::shared_ptr<change_listener>& whom)
{
    listeners_.erase(whom);
    whom->stop();
}

void change_hub::add(const std::shared_ptr<change_listener>& whom, const change& what)
{
    whom->pending.insert(what);
    if (std::exchange(whom->telling, true)) return;
    begin([this, whom] { return tell(whom); });
}

// A change may concern very many clients: others have their turn in between.
void change_hub::begin(std::function<awaitable<>()> telling)
{
    if (begun_now_ == 0 && waiting_.empty()) tasks_.spawn("tell others what changed", begin_others());
    if (++begun_now_ <= most_begun_at_once)
        tasks_.spawn("tell what changed", telling());
    else
        waiting_.push_back(std::move(telling));
}

awaitable<> change_hub::begin_others()
{
    for (bool more = true; more;) {
        co_await asio::post(asio::use_awaitable);
        begun_now_ = 0;
        for (; !waiting_.empty() && begun_now_ < most_begun_at_once; ++begun_now_) {
            const auto next = std::move(waiting_.front());
            waiting_.pop_front();
            tasks_.spawn("tell what changed", next());
        }
        more = begun_now_ != 0;
    }
}

awaitable<> change_hub::tell(std::shared_ptr<change_listener> whom)
{
    bool connected = true;
    // Changes of one moment are sent together, each once.
    if (whom->acknowledged) co_await asio::post(asio::use_awaitable);
    while (connected && !whom->stopped() && (!whom->acknowledged || (!closed_ && !whom->pending.empty()))) {
        auto message = co_await next_for(whom);
        if (message.method.empty() || whom->stopped()) continue;
        const auto sink = whom->sink;
        connected = co_await sink->send(std::move(message));
    }
    whom->telling = false;
    if (!connected || closed_) end(whom);
}

awaitable<outgoing> change_hub::next_for(std::shared_ptr<change_listener> whom) const
{
    if (!std::exchange(whom->acknowledged, true)) co_return acknowledgement(whom->filter, whom->subscription);
    const auto what = whom->pending.extract(whom->pending.begin()).value();
    auto detail = co_await detail_for(whom, what);
    co_return notification(what, whom->subscription, std::move(detail));
}

void change_hub::end(const std::shared_ptr<change_listener>& whom)
{
    listeners_.erase(whom);
    whom->end();
}

void change_hub::close()
{
    closed_ = true;
    const auto listening = listeners_;  // a copy: who ends is erased
    for (const auto& whom : listening)
        if (!whom->telling) end(whom);
}

change_listener::change_listener(change_filter wanted, json::value id, std::shared_ptr<message_sink> to,
                                 std::function<void()> on_end)
    : filter(std::move(wanted)), subscription(std::move(id)), sink(std::move(to)), on_end_(std::move(on_end))
{
}

void change_listener::observe_all(const observe_function& observe, std::function<void(const change& what)> changed)
{
    std::erase_if(filter.resources, [&](const std::string& uri) {
        const change what{resource_updated, uri};
        auto observer = observe(what, [changed, what](json::object) { changed(what); });
        const bool known = observer != nullptr;
        if (known) observers_.push_back(std::move(observer));
        return !known;
    });
    observe_tasks(observe, changed);
}

void change_listener::observe_tasks(const observe_function& observe,
                                    const std::function<void(const change& what)>& changed)
{
    for (const auto& id : filter.tasks) {
        const change what{task_changed, id};
        auto heard = [weak = weak_from_this(), changed, what](json::object detail) {
            if (const auto self = weak.lock()) self->details.insert_or_assign(what.uri, std::move(detail));
            changed(what);
        };
        if (auto observer = observe(what, std::move(heard))) observers_.push_back(std::move(observer));
    }
}

void change_listener::stop()
{
    on_end_ = nullptr;
    observers_.clear();
    pending.clear();
    sink.reset();
}

void change_listener::end()
{
    const auto tell = std::exchange(on_end_, nullptr);
    if (tell) tell();
    stop();
}

}  // namespace cmcp
