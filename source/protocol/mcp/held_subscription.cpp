#include "mcp/held_subscription.hpp"

#include "mcp/request_record.hpp"
#include "mcp/running_request.hpp"

#include <utility>

namespace cmcp {

held_subscription::held_subscription(const running_request& request, task_group& answers, change_hub& changes)
    : answers_(answers), changes_(changes)
{
    keeps = request.keeps;
    id = request.id;
    ids = request.ids;
    method = request.method;
    target = request.target;
    trace = request.trace;
}

void held_subscription::begin(change_filter filter, const change_hub::observe_function& observe,
                              std::function<void()> on_end)
{
    life.on(request_life::input::begin);
    auto listener = changes_.listen(std::move(filter), id, observe, reply, std::move(on_end));
    if (life.now() == request_life::state::running) listens_ = std::move(listener);
}

void held_subscription::finish(outcome done)
{
    if (life.now() == request_life::state::admitted) life.on(request_life::input::begin);
    if (life.on(request_life::input::finish) != request_life::action::answer) return;
    let_go(done);
    answers_.spawn("response", answer(self(), std::move(done)));
}

void held_subscription::cancel()
{
    const bool listening = life.now() == request_life::state::running;
    life.on(request_life::input::cancel);
    if (listening) let_go(outcome());
}

void held_subscription::let_go(const outcome& done)
{
    record_end(*this, done, began_);
    registration.leave();
    const auto listened = std::exchange(listens_, nullptr);
    if (listened) changes_.forget(listened);
}

std::shared_ptr<held_subscription> held_subscription::self()
{
    return std::static_pointer_cast<held_subscription>(shared_from_this());
}

awaitable<> held_subscription::answer(std::shared_ptr<held_subscription> self, outcome done)
{
    auto message = answer_of(self->id, std::move(done));
    co_await self->reply->send(std::move(message));
}

}  // namespace cmcp
