#include "log/bounded_log.hpp"

#include "log/log.hpp"

#include <utility>

namespace cmcp::log {

namespace {

constexpr std::chrono::seconds one_second(1);

}  // namespace

bool bounded_log::may_write(clock::time_point now)
{
    settle(now);
    if (now - begun_ >= one_second) {
        begun_ = now;
        written_ = 0;
    }
    if (written_ < most_) return ++written_ != 0;
    ++left_out_;
    return false;
}

void bounded_log::settle(clock::time_point now)
{
    if (left_out_ == 0 || now - begun_ < one_second) return;
    warning(summary_, {{"count", std::exchange(left_out_, 0)}});
}

}  // namespace cmcp::log
