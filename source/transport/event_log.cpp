#include "transport/event_log.hpp"

#include <utility>

namespace cmcp {

namespace {

// The cost of an entry beside its text.
constexpr std::size_t overhead = 128;

}  // namespace

event_log::event_log(std::size_t max_bytes, std::shared_ptr<memory_budget::part> memory)
    : max_bytes_(max_bytes), memory_(std::move(memory))
{
}

event_log::~event_log() { memory_->remove(bytes_); }

void event_log::add(const event_id& id, text data)
{
    auto size = data->size() + overhead;
    while (!events_.empty() && (bytes_ + size > max_bytes_ || !memory_->keeps(size))) drop_oldest();
    if (size > max_bytes_ || !memory_->keeps(size)) return;
    events_.push_back(kept{event{id, std::move(data)}, std::chrono::steady_clock::now()});
    bytes_ += size;
    memory_->add(size);
}

void event_log::drop_oldest()
{
    auto size = events_.front().what.data->size() + overhead;
    bytes_ -= size;
    memory_->remove(size);
    events_.pop_front();
}

std::vector<event_log::event> event_log::after(const event_id& id) const
{
    std::vector<event> events;
    for (const auto& each : events_)
        if (each.what.id.stream == id.stream && each.what.id.sequence > id.sequence) events.push_back(each.what);
    return events;
}

void event_log::forget_before(std::chrono::steady_clock::time_point when)
{
    while (!events_.empty() && events_.front().when < when) drop_oldest();
}

}  // namespace cmcp
