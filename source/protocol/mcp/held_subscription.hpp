#pragma once

#include "async/task_group.hpp"
#include "mcp/change_hub.hpp"
#include "mcp/running_request.hpp"

#include <chrono>
#include <functional>
#include <memory>

namespace cmcp {

/// A subscriptions/listen request that is served without a coroutine, because it waits for hours. While it listens, the
/// change_hub holds it.
class held_subscription final : public running_request {
public:
    /// Takes the name of the request over, nothing else of it. `answers` sends the response.
    held_subscription(const running_request& request, task_group& answers, change_hub& changes);

    void cancel() override;

    /// Until the request is cancelled, or `on_end` is called and finishes it.
    void begin(change_filter filter, const change_hub::observe_function& observe, std::function<void()> on_end);

    void finish(outcome done);  ///< answers, if it is not over yet

private:
    void let_go(const outcome& done);
    static awaitable<> answer(std::shared_ptr<held_subscription> self, outcome done);
    std::shared_ptr<held_subscription> self();

    task_group& answers_;
    change_hub& changes_;
    std::shared_ptr<change_listener> listens_;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace cmcp
