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
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return {};
    std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
    std::vector<asio::ip::address> all;
    for (const auto* each = found; each != nullptr; each = each->ai_next) {
        tcp::endpoint endpoint;
        if (each->ai_addrlen > endpoint.capacity()) continue;
        std::copy_n(reinterpret_cast<const char*>(each->ai_addr), each->ai_addrlen,
                    reinterpret_cast<char*>(endpoint.data()));
        if (std::find(all.begin(), all.end(), endpoint.address()) == all.end()) all.push_back(endpoint.address());
    }
    return all;
}

}  // namespace

listener::listener(asio::io_context& io, const std::string& host, std::uint16_t port)
{
    std::string failure = "the name stands for no address";
    for (const auto& address : addresses_of(host)) {
        // With port 0 the further addresses get the port that the first one was given.
        auto chosen = acceptors_.empty() ? port : local_endpoint().port();
        try {
            open(io, tcp::endpoint(address, chosen));
        } catch (const boost::system::system_error& e) {
            failure = e.code().message();
            if (e.code() == asio::error::address_in_use) break;
        }
    }
    if (acceptors_.empty())
        throw std::runtime_error("Cannot listen on " + host + " port " + std::to_string(port) + ": " + failure +
                                 ". Choose another address with MCP_HOST or another port with MCP_PORT.");
}

void listener::open(asio::io_context& io, const tcp::endpoint& where)
{
    tcp::acceptor acceptor(io);
    acceptor.open(where.protocol());
    acceptor.set_option(tcp::acceptor::reuse_address(true));
    if (where.address().is_v6()) {
        error_code ignored;
        acceptor.set_option(asio::ip::v6_only(!where.address().is_unspecified()), ignored);
    }
    acceptor.bind(where);
    acceptor.listen(4096);
    acceptors_.push_back(std::move(acceptor));
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
