#pragma once

#include "async/asio.hpp"
#include "load/load_options.hpp"
#include "load/tls_client.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp::load {

/// Bytes that went over the network.
struct traffic {
    std::uint64_t in = 0;
    std::uint64_t out = 0;
};

/// A connection to the server, with TLS where its address says https. A waiting connection holds no buffer, so tens of
/// thousands can wait.
class wire : public std::enable_shared_from_this<wire> {
public:
    struct user {
        virtual ~user() = default;
        virtual void wire_open() = 0;
        virtual void wire_bytes(std::string_view bytes) = 0;
        virtual void wire_lost(const std::string& reason) = 0;  ///< also when connecting failed; nothing comes after it
    };
    struct way {
        asio::ip::tcp::endpoint to;
        std::optional<asio::ip::address> from;
        std::size_t rate = 0;              ///< bytes a second that are read; 0: all that comes
        const tls_context* tls = nullptr;  ///< null: plain
        std::string host;                  ///< that the certificate must name
    };

    wire(asio::any_io_executor executor, traffic& counted);

    void open(const way& path, user& owner);
    void send(std::string bytes);
    void close();  ///< the user hears nothing more
    bool connected() const { return connected_; }

private:
    void connected(const boost::system::error_code& error);
    void shake_hands();
    void ready();
    void when(asio::ip::tcp::socket::wait_type what, void (wire::*then)());
    std::size_t read_some(char* into, std::size_t most, boost::system::error_code& error);
    std::size_t write_bytes(boost::system::error_code& error);
    void await_bytes();
    void read_what_is_there();
    void read_slowly();
    void write_some();
    void lost(const std::string& reason);

    asio::ip::tcp::socket socket_;
    traffic& counted_;
    user* user_ = nullptr;
    std::string unsent_;
    std::unique_ptr<asio::steady_timer> pace_;
    const tls_context* context_ = nullptr;
    std::string host_;
    std::optional<tls_client> tls_;
    std::size_t rate_ = 0;
    bool connected_ = false;
    bool writing_ = false;
};

/// The ways to a server: its addresses, looked up once, and the loopback addresses to connect from.
class route {
public:
    /// Throws cannot_begin. `connections`: how many there will be at once.
    route(const server_address& to, const load_options& options, std::size_t connections);

    const server_address& to() const { return to_; }
    wire::way next(std::size_t rate = 0);
    bool try_next_address();  ///< of the host, instead of the one before; false: there is none further

private:
    std::vector<asio::ip::tcp::endpoint> addresses_;
    std::size_t address_ = 0;
    server_address to_;
    std::optional<tls_context> tls_;
    std::size_t sources_ = 0;
    std::size_t turn_ = 0;
};

}  // namespace cmcp::load
