#include "mcp/held_subscription.hpp"

#include "mcp/answer.hpp"

#include <utility>

namespace cmcp {

held_subscription::held_subscription(std::shared_ptr<void> keeps, task_group& answers, change_hub& changes,
                                     std::unique_ptr<request_register::entry> running,
                                     std::shared_ptr<message_sink> reply)
    : keeps_(std::move(keeps)),
      answers_(answers),
      changes_(changes),
      running_(std::move(running)),
      reply_(std::move(reply))
{
}

// The canceller keeps this alive: whoever opened the stream cancels when it is over.
void held_subscription::begin(change_filter filter, const json::value& id, const change_hub::observe_function& observe,
                              std::function<void()> on_end)
{
    running_->request()->ends->on_cancel([self = shared_from_this()] { self->cancelled(); });
    auto made = changes_.listen(std::move(filter), id, observe, reply_, std::move(on_end));
    if (running_) listens_ = std::move(made);
}

void held_subscription::finish(const json::value& id, outcome done)
{
    if (!running_) return;
    auto reply = let_go(done);
    answers_.spawn("response", send_answer(std::move(reply), id, std::move(done)));
}

void held_subscription::cancelled()
{
    if (running_) let_go(outcome());
}

std::shared_ptr<message_sink> held_subscription::let_go(const outcome& done)
{
    record_end(*running_->request(), done, began_);
    running_.reset();
    const auto listened = std::exchange(listens_, nullptr);
    if (listened) changes_.forget(listened);
    return std::exchange(reply_, nullptr);
}

}  // namespace cmcp
