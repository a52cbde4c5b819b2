#include "transport/stdio_sink.hpp"

#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t most_waiting_bytes = 1024 * 1024;

}  // namespace

stdio_sink::stdio_sink(asio::any_io_executor executor, int fd)
    : stream_(executor, fd), changed_(executor, asio::steady_timer::time_point::max())
{
}

awaitable<> stdio_sink::wait() { co_await changed_.async_wait(as_tuple); }

void stdio_sink::wake() { changed_.cancel(); }

awaitable<bool> stdio_sink::send(outgoing message)
{
    while (waiting_bytes_ >= most_waiting_bytes && !broken_) co_await wait();
    if (broken_) co_return false;
    waiting_bytes_ += message.text.size() + 1;
    lines_.push_back(std::move(message.text) + "\n");
    wake();
    co_return true;
}

awaitable<> stdio_sink::run()
{
    while (!broken_) {
        if (lines_.empty() && finishing_) break;
        if (lines_.empty()) {
            co_await wait();
            continue;
        }
        auto line = std::move(lines_.front());
        lines_.pop_front();
        const auto length = line.size();
        const bool written = co_await stream_.write(std::move(line));
        waiting_bytes_ -= length;
        broken_ = !written;
        wake();
    }
}

void stdio_sink::finish()
{
    finishing_ = true;
    wake();
}

}  // namespace cmcp
