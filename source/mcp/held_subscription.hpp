#pragma once

#include "async/task_group.hpp"
#include "mcp/change_hub.hpp"
#include "mcp/request_register.hpp"

#include <chrono>
#include <memory>

namespace cmcp {

/// A subscriptions/listen request that is served without a coroutine: it waits for hours.
class held_subscription : public std::enable_shared_from_this<held_subscription> {
public:
    /// `answers` sends the response; `keeps`: what must live as long as the request.
    held_subscription(std::shared_ptr<void> keeps, task_group& answers, change_hub& changes,
                      std::unique_ptr<request_register::entry> running, std::shared_ptr<message_sink> reply);

    /// Until the request is cancelled, or `on_end` is called and finishes it.
    void begin(change_filter filter, const json::value& id, const change_hub::observe_function& observe,
               std::function<void()> on_end);

    void finish(const json::value& id, outcome done);  ///< answers, if it is not over yet

private:
    void cancelled();
    std::shared_ptr<message_sink> let_go(const outcome& done);

    std::shared_ptr<void> keeps_;
    task_group& answers_;
    change_hub& changes_;
    std::unique_ptr<request_register::entry> running_;  // null: it is over
    std::shared_ptr<message_sink> reply_;
    std::shared_ptr<change_listener> listens_;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace cmcp
