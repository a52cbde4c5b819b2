#pragma once

#include "async/task_group.hpp"
#include "jsonrpc/json.hpp"
#include "mcp/session.hpp"
#include "transport/message_sink.hpp"

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

namespace cmcp {

/// Something that changed. `uri`: of the resource (resources/updated), or the id of the task (notifications/tasks).
struct change {
    std::string method;
    std::string uri;

    auto operator<=>(const change&) const = default;
};

/// Which changes a listener of 2026-07-28 asked for (`SubscriptionFilter`).
struct change_filter {
    bool tools = false;
    bool prompts = false;
    std::set<std::string, std::less<>> resources;
    std::set<std::string, std::less<>> tasks;       ///< ids

    bool lets_through(const change& what) const;
    json::object describe() const;
};

/// Tells clients of both eras what changed. Changes that a slow client has not been told yet are coalesced, so what is
/// kept for it stays bounded.
class change_hub {
public:
    /// `detail_of` gives the DetailedTask of an id, or nothing when it is gone.
    using task_details = std::function<std::optional<json::object>(const std::string& id)>;

    change_hub(asio::any_io_executor executor, task_details detail_of);

    /// Starts to observe a resource, as catalogue::observe.
    using observe_function =
        std::function<std::shared_ptr<void>(const std::string& uri, const std::function<void()>& changed)>;

    void publish(const change& what);
    void watch(std::weak_ptr<session> who);

    /// Tells a session of a resource that it observes.
    void resource_changed(const std::weak_ptr<session>& whom, const std::string& uri);

    /// subscriptions/listen: acknowledges, tells how the tasks stand, then sends changes until close() or cancellation.
    /// Resources that `observe` does not know are left out of what is acknowledged.
    awaitable<> listen(change_filter filter, json::value subscription, observe_function observe,
                       std::shared_ptr<message_sink> sink);

    /// Ends all listeners gracefully; new ones end at once.
    void close();

private:
    struct watcher;
    struct listener;

    void add(const std::shared_ptr<watcher>& whom, const change& what);
    awaitable<> tell(std::shared_ptr<watcher> whom);
    void forget_gone_sessions();

    outgoing notification(const change& what, const json::value& subscription) const;

    asio::any_io_executor executor_;
    task_details detail_of_;
    std::unordered_map<const session*, std::shared_ptr<watcher>> watchers_;
    std::size_t cleanup_at_ = 64;
    std::set<listener*> listeners_;
    bool closed_ = false;
    task_group tasks_;
};

}  // namespace cmcp
