#pragma once

#include "async/asio.hpp"
#include "async/deadline_wheel.hpp"
#include "http/client_stream.hpp"

#include <boost/beast/core/flat_buffer.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace cmcp {

/// A client's connection with its input buffer, one deadline for the pending operation, and a watch for the peer's end
/// while nothing is read or written. One coroutine at a time uses the socket.
class client_socket : public std::enable_shared_from_this<client_socket>, private deadline_wheel::entry {
public:
    using milliseconds = std::chrono::milliseconds;

    client_socket(stream_socket socket, milliseconds write_timeout, std::shared_ptr<deadline_wheel> deadlines);

    asio::any_io_executor executor() { return stream_.get_executor(); }
    const std::string& address() const { return address_; }
    void set_address(std::string client) { address_ = std::move(client); }  ///< behind a proxy that tells it
    client_stream& stream() { return stream_; }                             ///< for what comes before the first request

    /// The rest of the connection is in TLS.
    void go_on_with(std::unique_ptr<tls_session> session);
    bool is_secure() const { return stream_.tls() != nullptr; }
    const std::shared_ptr<const client_certificate>& certificate() const { return certificate_; }  ///< null: none

    boost::beast::flat_buffer& buffer() { return buffer_; }
    std::string_view buffered() const;
    void release_buffer();        ///< gives the memory of an empty buffer back
    void release_large_buffer();  ///< the same for a buffer larger than a usual request

    /// The pending operation ends with operation_aborted after `limit`; timed_out() is true then.
    void set_deadline(milliseconds limit);
    using deadline_wheel::entry::clear_deadline;
    bool timed_out() const { return timed_out_; }
    void abort();  ///< ends the pending operation now

    /// The caller awaits the first bytes of a request and passes their number to arrived(). Ends with an error at the
    /// deadline, at abort(), at the end of input and when the socket is broken.
    auto read_first() { return stream_.async_read_some(buffer_.prepare(read_first_at_most()), as_tuple); }
    void arrived(std::size_t first_bytes);
    /// Appends at most `most` bytes to buffer(). False: end of input, deadline or error.
    awaitable<bool> read_some(std::size_t most = 64 * 1024);

    /// Writes all; the write timeout counts from the last byte that the peer took. False: the peer is gone or too slow.
    awaitable<bool> write(std::string_view first, std::string_view second = {}, std::string_view third = {});

    /// Writes what the kernel takes at once, most often all; the rest, if any, stays in `parts`. False: the peer is
    /// gone.
    using parts_to_write = std::array<asio::const_buffer, 3>;
    bool write_now(parts_to_write& parts);
    awaitable<bool> write_rest(parts_to_write parts);  ///< waits, as write() does

    /// Calls `on_gone` once when the peer closes its side. Input that comes meanwhile is kept, up to a bound.
    void watch(std::function<void()> on_gone);
    void unwatch();
    bool gone() const { return gone_; }

    void break_off();  ///< ends the connection, which looks as if the peer had gone

    client_stream release();  ///< the connection is another's from now on

    /// Ends the connection. Waits for the peer's end at most `limit`, because a reset could overtake the last answer.
    awaitable<> close_gently(milliseconds limit);

private:
    static constexpr std::size_t most_read_first = 1024;  // most requests; each connection that is idle holds as much

    // A connection whose earlier requests were a little longer reads its next one at once, too.
    std::size_t read_first_at_most() const { return std::max(most_read_first, buffer_.capacity()); }

    auto look();  ///< a handler that calls look_at_input() while this watch lasts
    void await_input();
    void look_at_input();
    void lost();
    void deadline_passed() override;
    bool take_available(std::size_t most, bool& end);

    client_stream stream_;
    boost::beast::flat_buffer buffer_;
    std::function<void()> on_gone_;
    std::string address_;
    std::shared_ptr<const client_certificate> certificate_;
    milliseconds write_timeout_;
    std::size_t in_a_row_ = 0;  // bytes that read_some() has taken without a wait
    unsigned watch_ = 0;
    bool watching_ = false;
    bool timed_out_ = false;
    bool gone_ = false;
};

}  // namespace cmcp
