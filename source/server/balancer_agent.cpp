#include "server/balancer_agent.hpp"

#include "config/cluster_member.hpp"
#include "config/settings.hpp"
#include "log/log.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <cmath>

namespace cmcp::command {

namespace {

using asio::ip::tcp;

tcp::acceptor listen_at(const asio::any_io_executor& executor, const std::string& place)
try {
    const auto at = read_host_and_port(place);
    tcp::resolver resolver(executor);
    const auto found_places = resolver.resolve(at->first, std::to_string(at->second));
    return {executor, *found_places.begin()};
} catch (const boost::system::system_error& failure) {
    throw config_error("MCP_AGENT_LISTEN=" + place + ": " + failure.code().message() +
                       "; name an address of this machine and a free port");
}

awaitable<> answer(tcp::socket& client, std::string line)
{
    co_await asio::async_write(client, asio::buffer(line), as_tuple);
    boost::system::error_code ignored;
    client.shutdown(tcp::socket::shutdown_both, ignored);
}

}  // namespace

std::string balancer_line(double pressure, bool drains)
{
    if (drains) return "drain\n";
    const auto weight = std::clamp(std::lround(100 * (1 - pressure)), 1l, 100l);
    return "up ready " + std::to_string(weight) + "%\n";
}

awaitable<> answer_balancers(asio::any_io_executor executor, std::string place, std::function<std::string()> line)
{
    auto acceptor = listen_at(executor, place);
    log::info("agent_check", {{"address", json::string(place)}});
    for (;;) {
        tcp::socket client(executor);
        const auto [failure] = co_await acceptor.async_accept(client, as_tuple);
        if (failure == asio::error::operation_aborted) throw boost::system::system_error(failure);
        if (!failure) co_await answer(client, line());
    }
}

}  // namespace cmcp::command
