#include "http/listener.hpp"

#include "log/log.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/steady_timer.hpp>

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace cmcp {

using asio::ip::tcp;
using boost::system::error_code;

namespace {

// getaddrinfo directly: Asio's resolver would start a hidden thread.
std::vector<asio::ip::address> addresses_of(const std::string& host)
{
    error_code error;
    auto literal = asio::ip::make_address(host, error);
    if (!error) return {literal};
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (::getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0) return {};
    std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(list, &::freeaddrinfo);
    std::vector<asio::ip::address> all;
    for (const auto* each = list; each != nullptr; each = each->ai_next) {
        tcp::endpoint endpoint;
        if (each->ai_addrlen > endpoint.capacity()) continue;
        std::copy_n(reinterpret_cast<const char*>(each->ai_addr), each->ai_addrlen,
                    reinterpret_cast<char*>(endpoint.data()));
        if (std::find(all.begin(), all.end(), endpoint.address()) == all.end()) all.push_back(endpoint.address());
    }
    return all;
}

constexpr int most_waiting = 4096;

tcp::acceptor bind_to(asio::io_context& io, const tcp::endpoint& where, bool listens)
{
    tcp::acceptor acceptor(io);
    acceptor.open(where.protocol());
    acceptor.set_option(tcp::acceptor::reuse_address(true));
    if (where.address().is_v6()) {
        error_code ignored;
        acceptor.set_option(asio::ip::v6_only(!where.address().is_unspecified()), ignored);
    }
    acceptor.bind(where);
    if (listens) acceptor.listen(most_waiting);
    return acceptor;
}

std::string what_to_do(const error_code& failure, std::uint16_t port)
{
    const std::string number = std::to_string(port);
    if (failure == asio::error::address_in_use)
        return "Another program listens there, perhaps another container-mcp (`ss -ltnp sport = :" + number +
               "` names it): end it, or choose another port with --port or MCP_PORT.";
    if (failure == asio::error::access_denied)
        return "This user may not take it: choose a port above 1023 with --port or MCP_PORT.";
    return "Choose an address of this machine with --host or MCP_HOST, or another port with --port or MCP_PORT.";
}

std::vector<tcp::acceptor> bound_acceptors(asio::io_context& io, const std::string& host, std::uint16_t port,
                                           bool listens)
{
    std::vector<tcp::acceptor> acceptors;
    std::string reason = "the name stands for no address";
    error_code failure;
    for (const auto& address : addresses_of(host)) {
        // With port 0 the further addresses get the port that the first one was given.
        const auto shared_port = acceptors.empty() ? port : acceptors.front().local_endpoint().port();
        try {
            acceptors.push_back(bind_to(io, tcp::endpoint(address, shared_port), listens));
        } catch (const boost::system::system_error& e) {
            failure = e.code();
            reason = failure.message();
            if (failure == asio::error::address_in_use) break;
        }
    }
    if (acceptors.empty())
        throw std::runtime_error("Cannot listen on " + host + " port " + std::to_string(port) + ": " + reason + ". " +
                                 what_to_do(failure, port));
    return acceptors;
}

}  // namespace

listener::listener(asio::io_context& io, const std::string& host, std::uint16_t port)
    : acceptors_(bound_acceptors(io, host, port, true))
{
}

void listener::try_address(const std::string& host, std::uint16_t port)
{
    asio::io_context io(1);
    bound_acceptors(io, host, port, false);
}

bool listener::only_loopback(const std::string& host)
{
    const auto all = addresses_of(host);
    return std::all_of(all.begin(), all.end(), [](const auto& each) { return each.is_loopback(); });
}

tcp::endpoint listener::local_endpoint() const { return acceptors_.front().local_endpoint(); }

void listener::start(task_group& tasks, accepted take)
{
    for (auto& each : acceptors_) tasks.spawn("listener", accept_all(each, take));
}

void listener::close()
{
    error_code ignored;
    for (auto& each : acceptors_) each.close(ignored);
}

awaitable<> listener::accept_all(tcp::acceptor& from, accepted take)
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
