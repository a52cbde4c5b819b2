#include "server/balancer_agent.hpp"

#include <boost/asio/write.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace cmcp::command {

namespace {

awaitable<> answer(stream_socket client, std::string line)
{
    co_await asio::async_write(client, asio::buffer(line), as_tuple);
    boost::system::error_code ignored;
    client.shutdown(stream_socket::shutdown_both, ignored);
}

}  // namespace

std::string balancer_line(double pressure, bool drains)
{
    if (drains) return "drain\n";
    const auto weight = std::clamp(std::lround(100 * (1 - pressure)), 1l, 100l);
    return "up ready " + std::to_string(weight) + "%\n";
}

void answer_balancers(listener& at, task_group& tasks, std::function<std::string()> line)
{
    at.start(tasks, [&tasks, line = std::move(line)](stream_socket client) {
        tasks.spawn("agent check", answer(std::move(client), line()));
    });
}

}  // namespace cmcp::command
