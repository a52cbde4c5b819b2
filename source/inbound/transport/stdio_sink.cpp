#include "transport/stdio_sink.hpp"

#include "async/sized_work.hpp"

#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t most_waiting_bytes = 1024 * 1024;

}  // namespace

stdio_sink::stdio_sink(asio::any_io_executor executor, int fd) : stream_(executor, fd) {}

awaitable<bool> stdio_sink::send(outgoing message)
{
    while (waiting_bytes_ >= most_waiting_bytes && !broken_) co_await changed_.wait();
    if (broken_) co_return false;
    lines_.push_back(message.take_text());
    waiting_bytes_ += lines_.back().size() + 1;
    const bool is_long = lines_.back().size() > most_on_loop;  // its room may be full, and all of it be copied
    if (is_long)
        lines_.emplace_back("\n");
    else
        lines_.back() += '\n';
    changed_.notify();
    co_return true;
}

awaitable<> stdio_sink::run()
{
    while (!broken_) {
        if (lines_.empty() && finishing_) break;
        if (lines_.empty()) {
            co_await changed_.wait();
            continue;
        }
        auto line = std::move(lines_.front());
        lines_.pop_front();
        const auto length = line.size();
        const bool written = co_await stream_.write(std::move(line));
        waiting_bytes_ -= length;
        broken_ = !written;
        changed_.notify();
    }
}

void stdio_sink::finish()
{
    finishing_ = true;
    changed_.notify();
}

}  // namespace cmcp
