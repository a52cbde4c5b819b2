#pragma once

#include "async/memory_budget.hpp"
#include "transport/sse_frame.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <limits>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace cmcp {

/// The messages that were sent to one session, so that a client which lost its connection can have it again: bounded,
/// the oldest goes first. Of responses that have gone it still knows which requests they answered.
class event_log {
public:
    using text = std::shared_ptr<const std::string>;
    struct event {
        event_id id;
        text data;
    };

    event_log(std::size_t max_bytes, std::shared_ptr<memory_budget::part> memory);
    ~event_log();
    event_log(const event_log&) = delete;
    event_log& operator=(const event_log&) = delete;

    /// `answers`: the id of the request that a response answers, as JSON; empty for other messages.
    void add(const event_id& id, text data, std::string answers = {});

    /// The kept events of the same stream that came after `id`, in order. In place of a response that is not kept any
    /// more comes an error that says so.
    std::vector<event> after(const event_id& id) const;

    /// At most so many; gives their number.
    std::size_t forget_before(std::chrono::steady_clock::time_point when,
                              std::size_t most = std::numeric_limits<std::size_t>::max());
    std::size_t bytes() const { return bytes_; }

private:
    struct kept {
        event what;
        std::string answers;
        std::chrono::steady_clock::time_point when;
    };
    void drop_oldest();
    void note_loss(const event& what, const std::string& answers);

    std::list<kept> events_;
    std::deque<event> lost_;  // the errors in place of responses
    std::size_t max_bytes_;
    std::size_t bytes_ = 0;
    std::size_t lost_bytes_ = 0;
    std::shared_ptr<memory_budget::part> memory_;
};

}  // namespace cmcp
