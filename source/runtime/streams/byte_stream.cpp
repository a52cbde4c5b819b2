#include "streams/byte_stream.hpp"

#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>

#include <string>
#include <utility>

namespace cmcp {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;
using clock = std::chrono::steady_clock;

namespace {

// A record of TLS has at most so many bytes (RFC 8446 section 5.1). Asio makes one of each buffer, however small.
constexpr std::size_t longest_record = 16 * 1024;

}  // namespace

class byte_stream::tls_layer {
public:
    tls_layer(stream_socket& socket, ssl::context& context) : stream(socket, context) {}

    ssl::stream<stream_socket&> stream;
};

// One timer, which is not set anew with each operation: it looks whether the limit has moved meanwhile.
struct byte_stream::deadline {
    explicit deadline(stream_socket& of) : socket(of), timer(of.get_executor()) {}

    static void wait(std::shared_ptr<deadline> self)
    {
        self->waits = true;
        self->timer.expires_at(self->at);
        self->timer.async_wait([weak = std::weak_ptr<deadline>(self)](error_code failure) {
            if (const auto still = weak.lock(); still && !failure) check(still);
        });
    }

    static void check(std::shared_ptr<deadline> self)
    {
        self->waits = false;
        if (self->at == clock::time_point::max()) return;
        if (clock::now() < self->at) return wait(std::move(self));
        self->passed = true;
        error_code ignored;
        self->socket.close(ignored);
    }

    stream_socket& socket;
    asio::steady_timer timer;
    clock::time_point at = clock::time_point::max();
    bool waits = false;
    bool passed = false;
};

byte_stream::byte_stream(stream_socket&& own) : own_(std::move(own)), socket_(*own_) {}
byte_stream::byte_stream(stream_socket& of_another) : socket_(of_another) {}
byte_stream::~byte_stream() = default;

SSL* byte_stream::begin_tls(ssl::context& context)
{
    tls_ = std::make_unique<tls_layer>(socket_, context);
    return tls_->stream.native_handle();
}

SSL* byte_stream::tls() const { return tls_ ? tls_->stream.native_handle() : nullptr; }

error_code byte_stream::cause_of(error_code failure) const
{
    return failure && deadline_ && deadline_->passed ? error_code(boost::beast::error::timeout) : failure;
}

awaitable<error_code> byte_stream::handshake(ssl::stream_base::handshake_type as, asio::const_buffer received)
{
    if (received.size() == 0) {
        const auto [failure] = co_await tls_->stream.async_handshake(as, as_tuple);
        co_return cause_of(failure);
    }
    const auto [failure, taken] = co_await tls_->stream.async_handshake(as, received, as_tuple);
    co_return cause_of(failure);
}

awaitable<error_code> byte_stream::shut_down_tls()
{
    const auto [failure] = co_await tls_->stream.async_shutdown(as_tuple);
    co_return cause_of(failure);
}

awaitable<byte_stream::transfer> byte_stream::read_some(asio::mutable_buffer into)
{
    if (tls_) {
        const auto [failure, size] = co_await tls_->stream.async_read_some(into, as_tuple);
        co_return transfer{cause_of(failure), size};
    }
    const auto [failure, size] = co_await socket_.async_read_some(into, as_tuple);
    co_return transfer{cause_of(failure), size};
}

awaitable<byte_stream::transfer> byte_stream::write(std::vector<asio::const_buffer> all)
{
    if (!tls_) {
        const auto [failure, size] = co_await asio::async_write(socket_, all, as_tuple);
        co_return transfer{cause_of(failure), size};
    }
    std::string together;
    if (const auto size = asio::buffer_size(all); all.size() > 1 && size <= longest_record) {
        together.resize(size);
        asio::buffer_copy(asio::buffer(together), all);
        all.assign(1, asio::buffer(std::as_const(together)));
    }
    const auto [failure, size] = co_await asio::async_write(tls_->stream, all, as_tuple);
    co_return transfer{cause_of(failure), size};
}

awaitable<byte_stream::transfer> byte_stream::write(std::string_view all)
{
    std::vector<asio::const_buffer> one{asio::buffer(all)};
    auto written = co_await write(std::move(one));
    co_return written;
}

void byte_stream::expires_after(std::chrono::milliseconds limit)
{
    if (!deadline_) deadline_ = std::make_shared<deadline>(socket_);
    const auto until = clock::now() + limit;
    const bool sooner = until < deadline_->at && deadline_->waits && until < deadline_->timer.expiry();
    deadline_->at = until;
    if (!deadline_->waits || sooner) deadline::wait(deadline_);
}

void byte_stream::expires_never()
{
    if (deadline_) deadline_->at = clock::time_point::max();
}

void byte_stream::close()
{
    error_code ignored;
    socket_.close(ignored);
}

}  // namespace cmcp
