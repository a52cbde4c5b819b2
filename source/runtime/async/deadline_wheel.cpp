#include "async/deadline_wheel.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace cmcp {

void deadline_wheel::entry::set_deadline(std::chrono::milliseconds from_now)
{
    due_ = clock::now() + from_now;
    if (link_ != nullptr && seen_at_ <= due_) return;
    unlink();
    wheel_->put(*this);
}

void deadline_wheel::entry::unlink()
{
    if (link_ == nullptr) return;
    *link_ = next_;
    if (next_ != nullptr) next_->link_ = link_;
    next_ = nullptr;
    link_ = nullptr;
    if (--wheel_->entries_ != 0) return;
    // A timer that nobody waits for would keep the program from ending.
    wheel_->running_ = false;
    wheel_->timer_.cancel();
}

std::size_t deadline_wheel::slot_of(clock::time_point when)
{
    return static_cast<std::size_t>(when.time_since_epoch() / tick) % slots;
}

// Entries hold the wheel: none is left.
deadline_wheel::~deadline_wheel() = default;

void deadline_wheel::put(entry& one)
{
    if (!running_) turned_to_ = clock::now();
    // At the latest a whole turn from now, to be put again then.
    auto ticks = std::min<std::int64_t>((one.due_ - turned_to_) / tick + 1, slots - 1);
    one.seen_at_ = turned_to_ + ticks * tick;
    auto& first = slots_[slot_of(one.seen_at_)];
    one.next_ = std::exchange(first, &one);
    if (one.next_ != nullptr) one.next_->link_ = &one.next_;
    one.link_ = &first;
    ++entries_;
    if (!running_ || one.seen_at_ < wakes_at_) run();
}

// Sleeps until the next slot that holds something.
void deadline_wheel::run()
{
    running_ = entries_ != 0;
    if (!running_) return;
    wakes_at_ = turned_to_ + tick;
    while (slots_[slot_of(wakes_at_)] == nullptr) wakes_at_ += tick;
    timer_.expires_at(wakes_at_);
    timer_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
        auto self = weak.lock();
        if (self && !error) self->turn();
    });
}

void deadline_wheel::turn()
{
    for (auto now = clock::now(); turned_to_ + tick <= now;) {
        turned_to_ += tick;
        look_at(slot_of(turned_to_));
    }
    run();
}

void deadline_wheel::look_at(std::size_t slot)
{
    // The list is taken out whole, because an entry that is put again meanwhile belongs to a later time.
    entry* first = std::exchange(slots_[slot], nullptr);
    if (first != nullptr) first->link_ = &first;
    while (first != nullptr) {
        entry& one = *first;
        one.unlink();
        if (one.due_ == clock::time_point::max()) continue;
        if (one.due_ > turned_to_) {
            put(one);
            continue;
        }
        one.clear_deadline();
        one.deadline_passed();
    }
}

}  // namespace cmcp
