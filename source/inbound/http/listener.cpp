#include "http/listener.hpp"

#include "log/log.hpp"

#include <boost/asio/steady_timer.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

namespace cmcp {

using boost::system::error_code;

namespace {

asio::generic::stream_protocol protocol_of(int socket)
{
    int family = 0;
    socklen_t length = sizeof family;
    ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &length);
    return {family, family == AF_UNIX ? 0 : IPPROTO_TCP};
}

}  // namespace

listener::listener(asio::io_context& io, bound_address address) : listener(io.get_executor(), address.take_sockets())
{
    address_ = std::move(address);
}

listener::listener(asio::any_io_executor executor, std::vector<unique_fd> sockets)
{
    for (unique_fd& socket : sockets) {
        const auto protocol = protocol_of(socket.get());
        acceptors_.emplace_back(executor, protocol, socket.get());
        socket.release();
    }
}

void listener::start(task_group& tasks, accepted take)
{
    for (auto& each : acceptors_) tasks.spawn("listener", accept_all(each, take));
}

void listener::close()
{
    error_code ignored;
    for (auto& each : acceptors_) each.close(ignored);
}

awaitable<> listener::accept_all(acceptor& from, accepted take)
{
    asio::steady_timer pause(from.get_executor());
    while (from.is_open()) {
        auto [error, socket] = co_await from.async_accept(as_tuple);
        if (!error) {
            take(std::move(socket));
            continue;
        }
        if (error == asio::error::operation_aborted || !from.is_open()) co_return;
        if (error == asio::error::connection_aborted) continue;
        // Out of descriptors or memory: accepting again at once would only spin.
        log::warning("accept_failed", {{"error", error.message()}});
        pause.expires_after(std::chrono::milliseconds(100));
        co_await pause.async_wait(asio::use_awaitable);
    }
}

}  // namespace cmcp
