#include "metrics/span_queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cmcp::metrics {

namespace {

constexpr std::size_t most_waiting = 8192;

}  // namespace

void span_queue::close()
{
    open_ = false;
    waiting_.clear();
}

void span_queue::add(span ended)
{
    if (!open_) return;
    if (waiting_.size() == most_waiting) {
        waiting_.pop_front();
        ++dropped_;
    }
    waiting_.push_back(std::move(ended));
}

std::vector<span> span_queue::take(std::size_t most)
{
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(most, waiting_.size()));
    std::vector<span> batch(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    return batch;
}

span_queue& spans()
{
    static span_queue queue;
    return queue;
}

}  // namespace cmcp::metrics
