#include "async/loop_delay.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

namespace cmcp {

namespace {

constexpr std::chrono::milliseconds between(50);
constexpr std::chrono::milliseconds good_for(200);

int make_signal()
{
    int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    return fd;
}

}  // namespace

loop_delay::loop_delay(asio::any_io_executor executor, std::function<void(clock::duration)> seen)
    : signal_(executor, make_signal()), seen_(std::move(seen))
{
}

awaitable<> loop_delay::watch()
{
    for (std::uint64_t count = 0;;) {
        co_await signal_.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
        ended_ = clock::now();
        last_ = ended_ - std::exchange(sent_, {});
        boost::system::error_code failed;
        signal_.read_some(asio::buffer(&count, sizeof count), failed);
        seen_(last_);
    }
}

void loop_delay::begin(clock::time_point time)
{
    const std::uint64_t one = 1;
    boost::system::error_code failed;
    signal_.write_some(asio::buffer(&one, sizeof one), failed);
    if (!failed) sent_ = time;
}

loop_delay::clock::duration loop_delay::now()
{
    const auto time = clock::now();
    if (sent_ != clock::time_point()) return std::max(last_, time - sent_);
    if (time - ended_ > good_for) last_ = {};
    if (time - ended_ > between) begin(time);
    return last_;
}

}  // namespace cmcp
