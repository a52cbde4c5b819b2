#pragma once

#include "jsonrpc/json.hpp"
#include "mcp/change.hpp"
#include "mcp/message_sink.hpp"

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace cmcp {

/// A listener of a change_hub (subscriptions/listen): data, because it waits for hours. The hub tells it.
class change_listener : public std::enable_shared_from_this<change_listener> {
public:
    /// Starts to observe a resource, as catalogue::observe.
    using observe_function =
        std::function<std::shared_ptr<void>(const std::string& uri, const std::function<void()>& changed)>;

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
    std::set<change> pending;  ///< not told yet
    bool acknowledged = false;
    bool telling = false;  ///< a coroutine of the hub is at it

private:
    std::function<void()> on_end_;
    std::vector<std::shared_ptr<void>> observers_;
};

}  // namespace cmcp
