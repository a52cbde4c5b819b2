#include "http/client_socket.hpp"

#include "config/networks.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <fcntl.h>

namespace cmcp {

using boost::system::error_code;

namespace {

constexpr std::size_t most_read_at_once = 64 * 1024;
constexpr std::size_t watch_read_size = 8 * 1024;
constexpr std::size_t most_kept_while_watching = 64 * 1024;
constexpr std::size_t most_in_a_row = 256 * 1024;
constexpr std::size_t most_drained = 16 * 1024 * 1024;
constexpr std::size_t most_written_at_once =
    256 * 1024;  // a peer that reads as fast as this writes would hold the loop

void take_away(client_socket::parts_to_write& parts, std::size_t written)
{
    for (auto& part : parts) {
        auto taken = std::min(written, part.size());
        part += taken;
        written -= taken;
    }
}

client_socket::parts_to_write first_of(client_socket::parts_to_write parts, std::size_t most)
{
    for (auto& part : parts) {
        part = asio::buffer(part, most);
        most -= part.size();
    }
    return parts;
}

std::string address_in_words(const asio::generic::stream_protocol::endpoint& peer)
{
    if (peer.protocol().family() == AF_UNIX) return "unix";
    asio::ip::tcp::endpoint internet;
    internet.resize(peer.size());
    std::memcpy(internet.data(), peer.data(), peer.size());
    return address_text(internet.address());
}

}  // namespace

client_socket::client_socket(stream_socket socket, milliseconds write_timeout,
                             std::shared_ptr<deadline_wheel> deadlines)
    : deadline_wheel::entry(std::move(deadlines)), stream_(std::move(socket)), write_timeout_(write_timeout)
{
    error_code ignored;
    stream_socket& accepted = stream_.socket();
    accepted.set_option(asio::ip::tcp::no_delay(true), ignored);
    accepted.non_blocking(true, ignored);
    ::fcntl(accepted.native_handle(), F_SETFD, FD_CLOEXEC);
    const auto peer = accepted.remote_endpoint(ignored);
    if (!ignored) address_ = address_in_words(peer);
}

void client_socket::go_on_with(std::unique_ptr<tls_session> session)
{
    if (auto client = session->client()) certificate_ = std::make_shared<client_certificate>(std::move(*client));
    stream_.go_on_with(std::move(session));
}

std::string_view client_socket::buffered() const
{
    return {static_cast<const char*>(buffer_.cdata().data()), buffer_.size()};
}

void client_socket::release_buffer()
{
    if (buffer_.size() == 0) buffer_.shrink_to_fit();
}

void client_socket::release_large_buffer()
{
    if (buffer_.capacity() > 2 * most_read_first) release_buffer();
}

void client_socket::set_deadline(milliseconds limit)
{
    timed_out_ = false;
    deadline_wheel::entry::set_deadline(limit);
}

void client_socket::deadline_passed()
{
    timed_out_ = true;
    abort();
}

void client_socket::abort() { stream_.cancel(); }

// Reads without waiting. `end`: no more input will come. All connections share the buffer, so that each connection
// holds no more than its own input.
bool client_socket::take_available(std::size_t most, bool& end)
{
    static std::array<char, most_read_at_once> arrived;
    error_code error;
    auto size = stream_.read_some(asio::buffer(arrived, most), error);
    end = error && error != asio::error::would_block;
    if (error) return false;
    buffer_.commit(asio::buffer_copy(buffer_.prepare(size), asio::buffer(arrived, size)));
    return true;
}

void client_socket::arrived(std::size_t first_bytes)
{
    bool end = false;
    const bool full = first_bytes == read_first_at_most();
    buffer_.commit(first_bytes);
    if (full) take_available(most_read_at_once, end);
}

awaitable<bool> client_socket::read_some(std::size_t most)
{
    bool end = false;
    while (!end && !timed_out_) {
        // A peer that sends as fast as this is read would keep the loop for itself.
        if (in_a_row_ >= most_in_a_row) {
            in_a_row_ = 0;
            co_await asio::post(executor(), asio::use_awaitable);
        }
        const auto before = buffer_.size();
        if (take_available(most, end)) {
            in_a_row_ += buffer_.size() - before;
            co_return true;
        }
        if (end) break;
        in_a_row_ = 0;
        auto [error] = co_await stream_.async_wait_on(as_tuple);
        if (error) break;
    }
    co_return false;
}

awaitable<bool> client_socket::write(std::string_view first, std::string_view second, std::string_view third)
{
    return write_rest({asio::buffer(first), asio::buffer(second), asio::buffer(third)});
}

bool client_socket::write_now(parts_to_write& parts)
{
    error_code error;
    for (std::size_t room = most_written_at_once; !error && room != 0 && asio::buffer_size(parts) != 0;) {
        const auto written = stream_.write_some(first_of(parts, room), error);
        take_away(parts, written);
        room -= written;
    }
    const bool broken = error && error != asio::error::would_block;
    gone_ = gone_ || broken;
    return !broken;
}

awaitable<bool> client_socket::write_rest(parts_to_write parts)
{
    for (;;) {
        if (!write_now(parts)) co_return false;
        if (asio::buffer_size(parts) == 0) co_return true;
        set_deadline(write_timeout_);
        auto next = first_of(parts, most_written_at_once);
        auto [error, written] = co_await stream_.async_write_some(next, as_tuple);
        clear_deadline();
        take_away(parts, written);
        if (!error) continue;
        gone_ = true;
        co_return false;
    }
}

auto client_socket::look()
{
    return [weak = weak_from_this(), generation = watch_](error_code error = {}) {
        auto self = weak.lock();
        if (self && !error && generation == self->watch_) self->look_at_input();
    };
}

void client_socket::await_input() { stream_.socket().async_wait(stream_socket::wait_read, look()); }

void client_socket::watch(std::function<void()> on_gone)
{
    on_gone_ = std::move(on_gone);
    ++watch_;
    watching_ = true;
    if (stream_.holds_input())
        asio::post(executor(), look());  // perhaps of the end, of which the socket does not tell any more
    else
        await_input();
}

void client_socket::unwatch()
{
    on_gone_ = nullptr;
    ++watch_;
    if (std::exchange(watching_, false)) abort();
}

// A readable socket holds the next requests of a pipeline, which are kept, or the end of the peer's side.
void client_socket::look_at_input()
{
    bool end = false;
    while (buffer_.size() < most_kept_while_watching && take_available(watch_read_size, end)) {
    }
    if (end) return lost();
    if (buffer_.size() < most_kept_while_watching) return await_input();
    watching_ = false;
}

void client_socket::lost()
{
    gone_ = true;
    watching_ = false;
    auto tell = std::exchange(on_gone_, nullptr);
    if (tell) tell();
}

void client_socket::break_off()
{
    boost::system::error_code ignored;
    stream_.socket().shutdown(asio::socket_base::shutdown_both, ignored);
}

client_stream client_socket::release()
{
    unwatch();
    clear_deadline();
    gone_ = true;
    return std::move(stream_);
}

awaitable<> client_socket::close_gently(milliseconds limit)
{
    unwatch();
    stream_.end_output();
    set_deadline(limit);
    for (std::size_t drained = 0; !timed_out_ && drained < most_drained;) {
        buffer_.consume(buffer_.size());
        auto more = co_await read_some();
        if (!more) break;
        drained += buffer_.size();
    }
    clear_deadline();
    stream_.close();
}

}  // namespace cmcp
