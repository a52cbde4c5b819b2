#pragma once

#include "async/event.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

namespace cmcp {

/// The calls that use a program that lasts, a kernel or a shell: one after the other, the first to come first. Io
/// thread only.
class call_line {
public:
    /// The place of a call, as long as it lives.
    class turn {
    public:
        explicit turn(std::shared_ptr<call_line> in) : in_(std::move(in)), ticket_(in_->next_++)
        {
            in_->tickets_.push_back(ticket_);
        }
        turn(const turn&) = delete;
        turn& operator=(const turn&) = delete;
        ~turn()
        {
            std::erase(in_->tickets_, ticket_);
            in_->used_ = event::clock::now();
            in_->moved_.notify();
        }

        bool has_come() const { return in_->tickets_.front() == ticket_; }
        std::size_t position() const  ///< among those that wait; 0: its turn has come
        {
            return static_cast<std::size_t>(std::ranges::find(in_->tickets_, ticket_) - in_->tickets_.begin());
        }

        /// False: no turn has ended until then.
        awaitable<bool> wait(event::clock::time_point until) { return in_->moved_.wait(until); }

    private:
        std::shared_ptr<call_line> in_;
        std::size_t ticket_;
    };

    bool empty() const { return tickets_.empty(); }          ///< no call waits or runs
    event::clock::time_point used() const { return used_; }  ///< when the last call ended, or the line began

private:
    std::deque<std::size_t> tickets_;  // the first one's call runs
    std::size_t next_ = 0;
    event::clock::time_point used_ = event::clock::now();
    event moved_;
};

}  // namespace cmcp
