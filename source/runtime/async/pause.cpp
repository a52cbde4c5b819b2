#include "async/pause.hpp"

#include <boost/asio/steady_timer.hpp>

namespace cmcp {

awaitable<> pause_for(std::chrono::milliseconds time)
{
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, time);
    co_await timer.async_wait(asio::use_awaitable);
}

}  // namespace cmcp
