#include "transport/event_log.hpp"

#include "transport/lost_response.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

// The cost of an entry beside its text.
constexpr std::size_t overhead = 128;

constexpr std::size_t most_lost = 64;
constexpr std::size_t longest_request_id = 512;

std::size_t bytes_of(const event_log::event& each) { return each.data->size() + overhead; }

bool is_after(const event_id& id, const event_id& before)
{
    return id.stream == before.stream && id.sequence > before.sequence;
}

}  // namespace

event_log::event_log(std::size_t max_bytes, std::shared_ptr<memory_budget::part> memory)
    : max_bytes_(max_bytes), memory_(std::move(memory))
{
}

event_log::~event_log() { memory_->remove(bytes_ + lost_bytes_); }

void event_log::add(const event_id& id, text data, std::string answers)
{
    event fresh{id, std::move(data)};
    const auto size = bytes_of(fresh);
    if (size > max_bytes_) return note_loss(fresh, answers);
    while (!events_.empty() && (bytes_ + size > max_bytes_ || !memory_->keeps(size))) drop_oldest();
    if (!memory_->keeps(size)) return note_loss(fresh, answers);
    events_.push_back(kept{std::move(fresh), std::move(answers), std::chrono::steady_clock::now()});
    bytes_ += size;
    memory_->add(size);
}

void event_log::drop_oldest()
{
    const auto oldest = std::move(events_.front());
    events_.pop_front();
    const auto size = bytes_of(oldest.what);
    bytes_ -= size;
    memory_->remove(size);
    note_loss(oldest.what, oldest.answers);
}

// A client that waits for a response would ask for it again and again.
void event_log::note_loss(const event& what, const std::string& answers)
{
    if (answers.empty() || answers.size() > longest_request_id) return;
    event error{what.id, std::make_shared<const std::string>(lost_response(answers, *what.data))};
    const auto size = bytes_of(error);
    if (lost_.size() == most_lost) {
        const auto oldest = bytes_of(lost_.front());
        lost_bytes_ -= oldest;
        memory_->remove(oldest);
        lost_.pop_front();
    }
    if (!memory_->keeps(size)) return;
    lost_.push_back(std::move(error));
    lost_bytes_ += size;
    memory_->add(size);
}

std::vector<event_log::event> event_log::after(const event_id& id) const
{
    std::vector<event> events;
    for (const auto& each : events_)
        if (is_after(each.what.id, id)) events.push_back(each.what);
    for (const auto& each : lost_)
        if (is_after(each.id, id)) events.push_back(each);
    std::ranges::stable_sort(events, {}, [](const event& each) { return each.id.sequence; });
    return events;
}

std::size_t event_log::forget_before(std::chrono::steady_clock::time_point when, std::size_t most)
{
    std::size_t forgotten = 0;
    for (; forgotten < most && !events_.empty() && events_.front().when < when; ++forgotten) drop_oldest();
    return forgotten;
}

}  // namespace cmcp
