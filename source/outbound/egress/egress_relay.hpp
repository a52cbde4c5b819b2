#pragma once

#include "async/asio.hpp"
#include "egress/egress_connector.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// A client's connection and the one to the outside that was made for it: passes bytes on, counts them against the
/// ticket, and closes both when nothing moves any more. Its users say what may be passed on.
class egress_relay : public std::enable_shared_from_this<egress_relay> {
public:
    egress_relay(stream_socket client, std::shared_ptr<egress_ticket> ticket);
    egress_relay(const egress_relay&) = delete;
    egress_relay& operator=(const egress_relay&) = delete;

    void close();  ///< both sides, at once

protected:
    ~egress_relay() = default;

    /// Connects; fills upstream_, or says why not.
    awaitable<std::optional<egress_error>> connect(host who, std::uint16_t port);

    /// Passes on what the buffer of the direction holds and all that comes after it, until its end.
    static awaitable<> copy(std::shared_ptr<egress_relay> self, bool outward);
    awaitable<> relay();                     ///< both directions, until both have ended
    awaitable<> relay(awaitable<> outward);  ///< `outward` instead of the copy of that direction
    static awaitable<> relay(awaitable<> outward, awaitable<> inward);

    bool moved(std::size_t bytes);  ///< false: the ticket has no more bytes
    void note_moved() { last_moved_ = clock::now(); }
    void watch_idle();  ///< close() when nothing moves for the ticket's limit from now on

    static constexpr std::uint32_t header_limit = 64 * 1024;
    static constexpr std::size_t relay_piece_size = 64 * 1024;

    stream_socket client_;
    std::shared_ptr<egress_ticket> ticket_;
    boost::beast::flat_buffer from_client_;
    boost::beast::flat_buffer from_upstream_;
    std::function<void(std::string_view)>
        hear_upstream_;  ///< gets what copy() passes inward, before it does; null: nobody
    std::optional<egress_socket> upstream_;
    std::string upstream_name_;
    std::uint16_t upstream_port_ = 0;

private:
    void hear(std::string_view bytes) const;
    using clock = std::chrono::steady_clock;
    void wait_until_idle();

    asio::steady_timer idle_;
    clock::time_point last_moved_;
};

}  // namespace cmcp
