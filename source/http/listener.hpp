#pragma once

#include "async/asio.hpp"
#include "async/task_group.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cmcp {

/// Listens on every address that a name stands for.
class listener {
public:
    /// Throws std::runtime_error with a sentence when no address can be had.
    listener(asio::io_context& io, const std::string& host, std::uint16_t port);

    /// Throws as the constructor would, and holds no address: for a start that has much to do before the server
    /// listens.
    static void try_address(const std::string& host, std::uint16_t port);

    /// Whether no other machine can reach what `host` stands for.
    static bool only_loopback(const std::string& host);

    asio::ip::tcp::endpoint local_endpoint() const;

    using accepted = std::function<void(asio::ip::tcp::socket)>;
    void start(task_group& tasks, accepted take);
    void close();

private:
    static awaitable<> accept_all(asio::ip::tcp::acceptor& from, accepted take);

    std::vector<asio::ip::tcp::acceptor> acceptors_;
};

}  // namespace cmcp
