#include "load/wire.hpp"

#include "load/cannot_begin.hpp"

#include <boost/asio/buffer.hpp>

#include <algorithm>
#include <array>
#include <memory>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace cmcp::load {

using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::size_t ports_of_an_address = 20'000;
constexpr int slow_receive_buffer = 4096;

// All connections share one buffer, because only one reads at a time.
std::array<char, 256 * 1024>& shared_buffer()
{
    static std::array<char, 256 * 1024> buffer;
    return buffer;
}

std::string reason_of_loss(const error_code& error)
{
    if (error == asio::error::eof) return "connection closed";
    if (error == asio::error::connection_reset) return "connection reset";
    return "connection lost: " + error.message();
}

std::vector<tcp::endpoint> look_up(const server_address& server)
{
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    auto port = std::to_string(server.port);
    if (::getaddrinfo(server.host.c_str(), port.c_str(), &hints, &list) != 0 || list == nullptr)
        throw cannot_begin("The host " + server.host + " of " + server.url() + " is not known.");
    std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(list, &::freeaddrinfo);
    std::vector<tcp::endpoint> addresses;
    for (const auto* each = list; each != nullptr; each = each->ai_next) {
        auto& endpoint = addresses.emplace_back();
        std::copy_n(reinterpret_cast<const char*>(each->ai_addr), each->ai_addrlen,
                    reinterpret_cast<char*>(endpoint.data()));
        endpoint.resize(each->ai_addrlen);
    }
    return addresses;
}

}  // namespace

wire::wire(asio::any_io_executor executor, traffic& counted) : socket_(executor), counted_(counted) {}

void wire::open(const way& path, user& owner)
{
    user_ = &owner;
    rate_ = path.rate;
    context_ = path.tls;
    host_ = path.host;
    error_code error;
    socket_.open(path.to.protocol(), error);
    if (!error && rate_ != 0) socket_.set_option(asio::socket_base::receive_buffer_size(slow_receive_buffer), error);
    if (!error && path.from) {
        // The port is chosen at connect, so that one source port can serve many destinations.
        int on = 1;
        ::setsockopt(socket_.native_handle(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
        socket_.bind(tcp::endpoint(*path.from, 0), error);
    }
    if (error) return lost("no socket: " + error.message());
    socket_.async_connect(path.to, [self = shared_from_this()](error_code failed) { self->connected(failed); });
}

void wire::connected(const error_code& error)
{
    if (user_ == nullptr) return;
    if (error) return lost("connect: " + error.message());
    error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    socket_.non_blocking(true, ignored);
    if (context_ == nullptr) return ready();
    tls_.emplace(*context_, socket_.native_handle(), host_);
    shake_hands();
}

void wire::shake_hands()
{
    switch (tls_->shake_hands()) {
        case tls_client::step::done:
            return ready();
        case tls_client::step::wants_read:
            return when(tcp::socket::wait_read, &wire::shake_hands);
        case tls_client::step::wants_write:
            return when(tcp::socket::wait_write, &wire::shake_hands);
        case tls_client::step::failed:
            return lost("TLS: " + tls_->problem());
    }
}

void wire::ready()
{
    connected_ = true;
    if (rate_ != 0) {
        pace_ = std::make_unique<asio::steady_timer>(socket_.get_executor());
        read_slowly();
    } else {
        await_bytes();
    }
    user_->wire_open();
}

void wire::when(tcp::socket::wait_type what, void (wire::*then)())
{
    socket_.async_wait(what, [self = shared_from_this(), then](error_code error) {
        if (!error && self->user_ != nullptr) (*self.*then)();
    });
}

std::size_t wire::read_some(char* into, std::size_t most, error_code& error)
{
    return tls_ ? tls_->read(into, most, error) : socket_.read_some(asio::buffer(into, most), error);
}

std::size_t wire::write_bytes(error_code& error)
{
    return tls_ ? tls_->write(unsent_, error) : socket_.write_some(asio::buffer(unsent_), error);
}

void wire::await_bytes() { when(tcp::socket::wait_read, &wire::read_what_is_there); }

// The buffer holds a whole TLS record, so no part of a record stays unread in OpenSSL while the socket is silent.
void wire::read_what_is_there()
{
    auto& buffer = shared_buffer();
    error_code error;
    auto size = read_some(buffer.data(), buffer.size(), error);
    if (error && error != asio::error::would_block) return lost(reason_of_loss(error));
    counted_.in += size;
    if (size != 0) user_->wire_bytes({buffer.data(), size});
    if (user_ != nullptr) await_bytes();
}

void wire::read_slowly()
{
    constexpr int slices = 4;
    pace_->expires_after(std::chrono::milliseconds(1000 / slices));
    pace_->async_wait([self = shared_from_this()](error_code error) {
        if (error || self->user_ == nullptr) return;
        auto& buffer = shared_buffer();
        auto most = std::clamp<std::size_t>(self->rate_ / slices, 1, buffer.size());
        error_code failed;
        auto size = self->read_some(buffer.data(), most, failed);
        if (failed && failed != asio::error::would_block) return self->lost(reason_of_loss(failed));
        self->counted_.in += size;
        if (size != 0) self->user_->wire_bytes({buffer.data(), size});
        if (self->user_ != nullptr) self->read_slowly();
    });
}

void wire::send(std::string bytes)
{
    if (unsent_.empty())
        unsent_ = std::move(bytes);
    else
        unsent_ += bytes;
    if (!writing_) write_some();
}

void wire::write_some()
{
    error_code error;
    auto size = write_bytes(error);
    if (error && error != asio::error::would_block) return;  // the next read reports the lost connection
    counted_.out += size;
    if (size == unsent_.size()) {
        unsent_ = {};
        writing_ = false;
        return;
    }
    unsent_.erase(0, size);
    writing_ = true;
    when(tcp::socket::wait_write, &wire::write_some);
}

void wire::lost(const std::string& reason)
{
    auto* owner = user_;
    close();
    if (owner != nullptr) owner->wire_lost(reason);
}

void wire::close()
{
    user_ = nullptr;
    connected_ = false;
    if (pace_) pace_->cancel();
    tls_.reset();
    error_code ignored;
    socket_.close(ignored);
}

route::route(const server_address& to, const load_options& options, std::size_t connections)
    : addresses_(look_up(to)), to_(to)
{
    if (to.secure) tls_.emplace(options.verify);
    sources_ = options.sources != 0 ? options.sources : 1 + connections / ports_of_an_address;
}

bool route::try_next_address()
{
    address_ = (address_ + 1) % addresses_.size();
    return address_ != 0;
}

wire::way route::next(std::size_t rate)
{
    wire::way path{addresses_[address_], std::nullopt, rate, tls_ ? &*tls_ : nullptr, to_.host};
    bool loopback = path.to.address().is_v4() && path.to.address().is_loopback();
    if (loopback && sources_ > 1) {
        auto last = static_cast<asio::ip::address_v4::uint_type>(1 + turn_++ % sources_);
        path.from = asio::ip::address_v4(0x7f000000u + last);
    }
    return path;
}

}  // namespace cmcp::load
