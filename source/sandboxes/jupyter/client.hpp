#pragma once

#include "async/blocking_pool.hpp"
#include "async/event.hpp"
#include "http/websocket.hpp"
#include "jupyter/message.hpp"

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace cmcp::jupyter {

/// The connection of a client to the channels of a kernel. Io thread only.
class client : public std::enable_shared_from_this<client> {
public:
    using text = std::shared_ptr<const std::string>;
    using reader = std::function<void(message heard)>;

    /// Long messages of the peer are parsed on the pool, in the turn of `owner`. `patience`: how long the peer may read
    /// nothing while much waits for it.
    client(std::unique_ptr<websocket> socket, framing as, std::chrono::milliseconds patience, blocking_pool& pool,
           std::string owner)
        : socket_(std::move(socket)), framing_(as), patience_(patience), pool_(pool), owner_(std::move(owner))
    {
    }

    framing as() const { return framing_; }

    /// The message goes behind those before it.
    void post(text written);

    /// While the peer is slow. A peer that stays so is cut off.
    awaitable<> room();

    /// An error follows, which the peer has seen when it sends more behind its answer to this mark.
    void mark();

    /// Messages that the peer sent before it saw the last error are not to run.
    void abort_unaware() { aborted_through_ = marks_; }
    bool is_unaware() const { return socket_->answered() < aborted_through_; }

    /// Until the end of the connection.
    awaitable<> run(reader take);

    void close();  ///< behind what is posted

private:
    awaitable<> read(reader take);
    awaitable<std::optional<message>> understand(websocket::message heard);
    awaitable<> write();
    awaitable<bool> write_next();
    void leave();

    std::unique_ptr<websocket> socket_;
    framing framing_;
    std::chrono::milliseconds patience_;
    blocking_pool& pool_;
    std::string owner_;
    std::deque<text> unsent_;  // null: a mark
    std::size_t unsent_bytes_ = 0;
    std::uint32_t marks_ = 0;
    std::uint32_t marks_sent_ = 0;
    std::uint32_t aborted_through_ = 0;  // mark
    event changed_;
    bool closing_ = false;
    bool gone_ = false;
};

}  // namespace cmcp::jupyter
