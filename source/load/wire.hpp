#pragma once

#include "async/asio.hpp"
#include "load/load_options.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp::load {

/// What went over the network.
struct traffic {
    std::uint64_t in = 0;
    std::uint64_t out = 0;
};

/// One TCP connection to the server. Holds no buffer while nothing arrives, so that tens of thousands can wait.
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
        std::size_t rate = 0;               ///< bytes a second that are read; 0: all that comes
    };

    wire(asio::any_io_executor executor, traffic& counted);

    void open(const way& chosen, user& told);
    void send(std::string bytes);
    void close();                           ///< the user hears nothing more
    bool connected() const { return connected_; }

private:
    void connected(const boost::system::error_code& error);
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
    std::size_t rate_ = 0;
    bool connected_ = false;
    bool writing_ = false;
};

/// How to reach the server: its address looked up once, and the loopback addresses to come from.
class route {
public:
    /// Throws std::runtime_error with a sentence. `connections`: how many there will be at once.
    route(const load_options& chosen, std::size_t connections);

    wire::way next(std::size_t rate = 0);

private:
    asio::ip::tcp::endpoint server_;
    std::size_t sources_ = 0;
    std::size_t turn_ = 0;
};

}  // namespace cmcp::load
