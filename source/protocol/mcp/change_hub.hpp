#pragma once

#include "async/task_group.hpp"
#include "jsonrpc/json.hpp"
#include "mcp/change_listener.hpp"
#include "mcp/message_sink.hpp"
#include "mcp/session.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace cmcp {

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
