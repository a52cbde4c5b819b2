#pragma once

#include "jsonrpc/json.hpp"
#include "mcp/change.hpp"
#include "mcp/message_sink.hpp"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
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

}  // namespace cmcp
