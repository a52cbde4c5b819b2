#pragma once

#include "log/log.hpp"

#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

namespace cmcp::log {

/// Lets at most `most` events a second into the log, because a peer that causes events at will must not fill the disk.
/// The event `summary` tells the `count` of those left out when their second is over.
class bounded_log {
public:
    using clock = std::chrono::steady_clock;

    explicit bounded_log(std::string_view summary, std::uint64_t most = 10) : summary_(summary), most_(most) {}

    /// Whether another event may be written. Otherwise the event is counted.
    bool may_write(clock::time_point now = clock::now())
    {
        settle(now);
        if (now - begun_ >= std::chrono::seconds(1)) {
            begun_ = now;
            written_ = 0;
        }
        if (written_ < most_) return ++written_ != 0;
        ++left_out_;
        return false;
    }

    /// Writes the count of a second that is over; to be called from time to time, because no further event may come.
    void settle(clock::time_point now = clock::now())
    {
        if (left_out_ == 0 || now - begun_ < std::chrono::seconds(1)) return;
        warning(summary_, {{"count", std::exchange(left_out_, 0)}});
    }

private:
    std::string_view summary_;
    std::uint64_t most_;
    clock::time_point begun_{};
    std::uint64_t written_ = 0;
    std::uint64_t left_out_ = 0;
};

}  // namespace cmcp::log
