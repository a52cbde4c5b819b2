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

int make_signal()
{
    int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    return fd;
}

}  // namespace

loop_delay::loop_delay(asio::any_io_executor executor, std::function<void(clock::duration)> seen)
    : signal_(executor, make_signal()), pause_(executor), seen_(std::move(seen))
{
}

awaitable<> loop_delay::watch()
{
    for (std::uint64_t one = 1;;) {
        pause_.expires_after(between);
        co_await pause_.async_wait(asio::use_awaitable);
        sent_ = clock::now();
        boost::system::error_code failed;
        signal_.write_some(asio::buffer(&one, sizeof one), failed);
        co_await signal_.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
        last_ = clock::now() - std::exchange(sent_, {});
        signal_.read_some(asio::buffer(&one, sizeof one), failed);
        one = 1;
        seen_(last_);
    }
}

loop_delay::clock::duration loop_delay::now() const
{
    return sent_ == clock::time_point() ? last_ : std::max(last_, clock::now() - sent_);
}

}  // namespace cmcp
