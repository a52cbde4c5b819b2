#pragma once

#include "streams/stream_socket.hpp"
#include "tls/tls_session.hpp"

#include <boost/asio/compose.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace cmcp {

/// The connection of a client as a stream of its bytes: the socket itself, or TLS over it. Models Asio's
/// AsyncReadStream and AsyncWriteStream, and reads and writes without waiting, too (would_block). The socket does not
/// block. Stays where it is while an operation is under way.
class client_stream {
public:
    using executor_type = stream_socket::executor_type;
    using error_code = boost::system::error_code;

    explicit client_stream(stream_socket socket) : socket_(std::move(socket)) {}

    /// From now on the bytes are those inside of TLS. The handshake is finished.
    void go_on_with(std::unique_ptr<tls_session> session) { tls_ = std::move(session); }
    const tls_session* tls() const { return tls_.get(); }

    executor_type get_executor() { return socket_.get_executor(); }
    stream_socket& socket() { return socket_; }

    template <class Buffers>
    std::size_t read_some(const Buffers& into, error_code& error)
    {
        if (!tls_) return socket_.read_some(into, error);
        const asio::mutable_buffer first = first_of<asio::mutable_buffer>(into);
        error = {};
        return first.size() == 0 ? 0 : tls_->read(static_cast<char*>(first.data()), first.size(), error);
    }

    /// After would_block the next call gets the same bytes again.
    template <class Buffers>
    std::size_t write_some(const Buffers& from, error_code& error)
    {
        return tls_ ? write_record(gathered(from), error) : socket_.write_some(from, error);
    }

    template <class Buffers, class Token>
    auto async_read_some(const Buffers& into, Token&& token)
    {
        return asio::async_initiate<Token, void(error_code, std::size_t)>(begin_reading(), token, this, into);
    }

    template <class Buffers, class Token>
    auto async_write_some(const Buffers& from, Token&& token)
    {
        return asio::async_initiate<Token, void(error_code, std::size_t)>(begin_writing(), token, this, from);
    }

    /// Until an operation that gave would_block may go on.
    template <class Token>
    auto async_wait_on(Token&& token, stream_socket::wait_type plain = stream_socket::wait_read)
    {
        return socket_.async_wait(tls_ ? wanted() : plain, std::forward<Token>(token));
    }

    bool holds_input() const { return tls_ && tls_->holds_input(); }  ///< of which the socket does not tell
    void cancel();                                                    ///< ends what is under way
    void end_output();                                                ///< the peer reads the end
    void close();

private:
    template <class Buffer, class Buffers>
    static Buffer first_of(const Buffers& all)
    {
        const auto filled = std::find_if(asio::buffer_sequence_begin(all), asio::buffer_sequence_end(all),
                                         [](const Buffer& each) { return each.size() != 0; });
        return filled == asio::buffer_sequence_end(all) ? Buffer() : Buffer(*filled);
    }

    static constexpr std::size_t longest_record = 16 * 1024;
    static asio::mutable_buffer scratch();

    // Each call of OpenSSL makes a record and a system call, so small pieces become one.
    template <class Buffers>
    static asio::const_buffer gathered(const Buffers& all)
    {
        const auto first = first_of<asio::const_buffer>(all);
        if (first.size() >= longest_record || first.size() == asio::buffer_size(all)) return first;
        const auto room = scratch();
        return asio::const_buffer(room.data(), asio::buffer_copy(room, all));
    }

    std::size_t write_record(asio::const_buffer bytes, error_code& error);
    stream_socket::wait_type wanted() const;

    // Tries, and waits for the socket, by turns.
    template <class Attempt>
    struct transfer {
        template <class Self>
        void operator()(Self& self)
        {
            if (begun) return self.complete(result, moved);
            begun = true;
            if (attempt_blocks()) return stream->async_wait_on(std::move(self));
            asio::post(stream->get_executor(), std::move(self));  // nothing completes within the call that begins it
        }

        template <class Self>
        void operator()(Self& self, error_code error)
        {
            if (error) return self.complete(error, 0);
            if (attempt_blocks()) return stream->async_wait_on(std::move(self));
            self.complete(result, moved);
        }

        bool attempt_blocks()
        {
            moved = attempt(*stream, result);
            return result == asio::error::would_block;
        }

        client_stream* stream;
        Attempt attempt;
        bool begun = false;
        error_code result{};
        std::size_t moved = 0;
    };

    template <class Attempt, class Handler>
    static void begin(client_stream& stream, Attempt attempt, Handler handler)
    {
        asio::async_compose<Handler, void(error_code, std::size_t)>(transfer<Attempt>{&stream, std::move(attempt)},
                                                                    handler, stream.socket_);
    }

    struct begin_reading {
        template <class Handler, class Buffers>
        void operator()(Handler handler, client_stream* stream, const Buffers& into) const
        {
            if (!stream->tls_) return stream->socket_.async_read_some(into, std::move(handler));
            begin(
                *stream, [into](client_stream& from, error_code& error) { return from.read_some(into, error); },
                std::move(handler));
        }
    };

    struct begin_writing {
        template <class Handler, class Buffers>
        void operator()(Handler handler, client_stream* stream, const Buffers& from) const
        {
            if (!stream->tls_) return stream->socket_.async_write_some(from, std::move(handler));
            begin(
                *stream, [from](client_stream& to, error_code& error) { return to.write_some(from, error); },
                std::move(handler));
        }
    };

    stream_socket socket_;
    std::unique_ptr<tls_session> tls_;  // goes first: it uses the socket
};

}  // namespace cmcp
