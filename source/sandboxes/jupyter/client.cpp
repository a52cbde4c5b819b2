#include "jupyter/client.hpp"

#include "async/sized_work.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/parallel_group.hpp>

#include <utility>

namespace cmcp::jupyter {

namespace {

constexpr std::size_t most_unsent = 4 << 20;
constexpr std::uint16_t normal_end = 1000, not_understood = 1007;

}  // namespace

void client::post(text written)
{
    if (gone_) return;
    unsent_bytes_ += written->size();
    unsent_.push_back(std::move(written));
    changed_.notify();
}

void client::mark()
{
    if (gone_) return;
    ++marks_;
    unsent_.push_back(nullptr);
    changed_.notify();
}

awaitable<> client::room()
{
    const auto self = shared_from_this();
    const auto until = event::clock::now() + patience_;
    while (!gone_ && unsent_bytes_ > most_unsent && event::clock::now() < until) co_await changed_.wait(until);
    if (!gone_ && unsent_bytes_ > most_unsent) leave();
}

void client::close()
{
    closing_ = true;
    changed_.notify();
}

void client::leave()
{
    gone_ = true;
    unsent_.clear();
    unsent_bytes_ = 0;
    socket_->abort();
    changed_.notify();
}

awaitable<> client::run(reader take)
{
    const auto self = shared_from_this();
    const auto executor = co_await asio::this_coro::executor;
    auto group =
        asio::experimental::make_parallel_group(asio::co_spawn(executor, read(std::move(take)), asio::deferred),
                                                asio::co_spawn(executor, write(), asio::deferred));
    auto [order, reading, writing] = co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
    for (const auto& failure : {reading, writing})
        if (failure) std::rethrow_exception(failure);
}

awaitable<std::optional<message>> client::understand(websocket::message heard)
{
    const auto size = heard.bytes.size();
    auto work = [bytes = std::move(heard.bytes), as = heard.is_text ? framing::json : framing_] {
        return read_message(bytes, as);
    };
    auto understood = co_await by_size(pool_, owner_, size, std::move(work));
    co_return understood;
}

awaitable<> client::read(reader take)
{
    for (;;) {
        auto heard = co_await socket_->read();
        if (!heard) break;
        auto understood = co_await understand(std::move(*heard));
        if (!understood) {
            co_await socket_->close(not_understood,
                                    "this is no message of Jupyter's protocol, or one of too many values");
            break;
        }
        take(std::move(*understood));
    }
    gone_ = true;
    changed_.notify();
}

awaitable<bool> client::write_next()
{
    const text next = unsent_.front();
    bool written = false;
    if (next)
        written = co_await socket_->write(*next, framing_ == framing::json);
    else
        written = co_await socket_->ping(++marks_sent_);
    if (!written || unsent_.empty()) co_return false;
    unsent_.pop_front();
    if (next) unsent_bytes_ -= next->size();
    co_return true;
}

awaitable<> client::write()
{
    for (;;) {
        while (!gone_ && unsent_.empty() && !closing_) co_await changed_.wait();
        if (gone_) co_return;
        if (unsent_.empty()) break;
        const bool written = co_await write_next();
        if (!written) co_return;
        changed_.notify();
    }
    co_await socket_->close(normal_end, "the kernel has ended");
}

}  // namespace cmcp::jupyter
