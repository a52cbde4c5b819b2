#include "transport/start_in_turns.hpp"

#include "async/turns.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include <utility>

namespace cmcp {

awaitable<> start_in_turns(server_core& core, std::vector<jsonrpc::message> messages, peer from)
{
    constexpr std::size_t most_in_a_turn = 4;
    const auto executor = co_await asio::this_coro::executor;
    std::string payer = payer_of(from);
    const auto turn = co_await core.batches().take(std::move(payer));
    std::size_t started = 0;
    for (auto& each : messages) {
        core.start(std::move(each), from);
        if (++started % most_in_a_turn == 0) co_await asio::post(executor, asio::use_awaitable);
    }
}

}  // namespace cmcp
