#pragma once

#include "async/task_group.hpp"
#include "jsonrpc/json.hpp"
#include "mcp/change.hpp"
#include "mcp/message_sink.hpp"
#include "mcp/session.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace cmcp {

/// A listener of a change_hub (subscriptions/listen): data, because it waits for hours. The hub tells it.
class change_listener : public std::enable_shared_from_this<change_listener> {
public:
    /// Starts to observe a resource, or a task of another server; null: there is no such thing. `heard` gets what a
    /// notification says of the task.
    using heard_function = std::function<void(json::object detail)>;
    using observe_function = std::function<std::shared_ptr<void>(const change& what, const heard_function& heard)>;

    /// `on_end`: called once, when nothing more will come: the hub was closed, or the client is gone.
    change_listener(change_filter wanted, json::value id, std::shared_ptr<message_sink> to,
                    std::function<void()> on_end);

    /// Leaves what nobody can observe out of the filter.
    void observe_all(const observe_function& observe, std::function<void(const change& what)> changed);

    /// From now on it wants nothing; the hub forgets it.
    void stop();
    bool stopped() const { return sink == nullptr; }
    void end();  ///< tells that nothing more will come, and stops

    change_filter filter;
    const json::value subscription;  ///< the id of the request
    std::shared_ptr<message_sink> sink;
    std::set<change> pending;                                  ///< not sent yet
    std::map<std::string, json::object, std::less<>> details;  ///< of tasks of other servers, as last heard
    bool acknowledged = false;
    bool telling = false;  ///< a coroutine of the hub is at it

private:
    void observe_tasks(const observe_function& observe, const std::function<void(const change& what)>& changed);

    std::function<void()> on_end_;
    std::vector<std::shared_ptr<void>> observers_;
};

/// Tells clients of both eras what changed. Changes that were not sent to a slow client yet are coalesced, so its
/// queue stays bounded.
class change_hub {
public:
    /// `detail_of` gives the DetailedTask of an id, or nothing when it is gone.
    using task_details = std::function<awaitable<std::optional<json::object>>(std::string id)>;

    change_hub(asio::any_io_executor executor, task_details detail_of);

    using observe_function = change_listener::observe_function;

    void publish(const change& what);
    void watch(std::weak_ptr<session> who);

    /// Tells a session of a resource that it observes.
    void resource_changed(const std::weak_ptr<session>& whom, const std::string& uri);

    /// subscriptions/listen: acknowledges, tells how the tasks stand, then sends changes until close() or forget().
    /// Resources that `observe` does not know are left out of what is acknowledged.
    std::shared_ptr<change_listener> listen(change_filter filter, json::value subscription,
                                            const observe_function& observe, std::shared_ptr<message_sink> sink,
                                            std::function<void()> on_end);
    void forget(const std::shared_ptr<change_listener>& whom);

    /// Ends all listeners gracefully; new ones end at once.
    void close();

    /// Waits until nothing is being sent, at most `limit`; returns true then.
    awaitable<bool> idle(std::chrono::milliseconds limit) { return tasks_.wait_idle(limit); }

private:
    struct watcher;

    void add(const std::shared_ptr<watcher>& whom, const change& what);
    void add(const std::shared_ptr<change_listener>& whom, const change& what);
    void begin(std::function<awaitable<>()> telling);
    awaitable<> begin_others();
    awaitable<> tell(std::shared_ptr<watcher> whom);
    awaitable<> tell(std::shared_ptr<change_listener> whom);
    awaitable<outgoing> next_for(std::shared_ptr<change_listener> whom) const;
    void end(const std::shared_ptr<change_listener>& whom);
    void forget_gone_sessions();

    awaitable<std::optional<json::object>> detail_for(std::shared_ptr<change_listener> whom, change what) const;
    outgoing notification(const change& what, const json::value& subscription, std::optional<json::object> task) const;

    task_details detail_of_;
    std::unordered_map<const session*, std::shared_ptr<watcher>> watchers_;
    std::size_t cleanup_at_ = 64;
    std::unordered_set<std::shared_ptr<change_listener>> listeners_;
    bool closed_ = false;
    std::deque<std::function<awaitable<>()>> waiting_;  // tellings that begin in a later step of the loop
    std::size_t begun_now_ = 0;                         // in this step
    task_group tasks_;
};

}  // namespace cmcp
