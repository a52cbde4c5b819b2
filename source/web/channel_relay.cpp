#include "web/channel_relay.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t longest_data = 1 << 20;
constexpr std::size_t most_connections = 64;
constexpr std::size_t piece = 64 * 1024;

void append_number(std::string& to, std::uint32_t value)
{
    for (int shift = 24; shift >= 0; shift -= 8) to += static_cast<char>(value >> shift & 0xff);
}

std::uint32_t number_at(const unsigned char* bytes)
{
    return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

}  // namespace

channel_relay::channel_relay(asio::any_io_executor executor, unique_fd channel, std::uint16_t port)
    : executor_(executor), channel_(executor, channel.release()), port_(port), tasks_(executor)
{
}

awaitable<bool> channel_relay::read(frame& into)
{
    std::array<unsigned char, 9> head{};
    auto [failure, got] = co_await asio::async_read(channel_, asio::buffer(head), as_tuple);
    if (failure) co_return false;
    into.kind = static_cast<char>(head[0]);
    into.number = number_at(head.data() + 1);
    const std::size_t size = number_at(head.data() + 5);
    if (size > longest_data) co_return false;
    into.data.resize(size);
    auto [late_failure, rest] = co_await asio::async_read(channel_, asio::buffer(into.data), as_tuple);
    co_return !late_failure;
}

// Frames are written one at a time, whole.
awaitable<bool> channel_relay::write(frame what)
{
    while (writing_) co_await changed_.wait();
    writing_ = true;
    std::string text(1, what.kind);
    append_number(text, what.number);
    append_number(text, static_cast<std::uint32_t>(what.data.size()));
    text += what.data;
    auto [failure, sent] = co_await asio::async_write(channel_, asio::buffer(text), as_tuple);
    writing_ = false;
    changed_.notify();
    co_return !failure;
}

awaitable<> channel_relay::run()
{
    const auto self = shared_from_this();
    frame heard;
    for (;;) {
        const bool more = co_await read(heard);
        if (!more) break;
        if (heard.kind == 'o') co_await open(heard.number);
        if (heard.kind == 'c') close(heard.number);
        const auto entry = heard.kind == 'd' ? open_.find(heard.number) : open_.end();
        if (entry == open_.end()) continue;
        const auto to = entry->second;
        auto [failure, sent] = co_await asio::async_write(*to, asio::buffer(heard.data), as_tuple);
        if (failure) close(heard.number);
    }
    const auto all = std::exchange(open_, {});
    boost::system::error_code ignored;
    for (const auto& [number, each] : all) each->close(ignored);
    tasks_.cancel_all();
}

awaitable<> channel_relay::open(std::uint32_t number)
{
    frame refusal{'c', number, {}};
    const bool too_many = open_.size() >= most_connections || open_.contains(number);
    auto connection = std::make_shared<asio::ip::tcp::socket>(executor_);
    const asio::ip::tcp::endpoint guard(asio::ip::address_v4::loopback(), port_);
    bool connected = false;
    if (!too_many) {
        auto [failure] = co_await connection->async_connect(guard, as_tuple);
        connected = !failure;
    }
    if (!connected) {
        co_await write(std::move(refusal));
        co_return;
    }
    open_[number] = connection;
    tasks_.spawn("channel relay", from_guard(number, std::move(connection)));
}

awaitable<> channel_relay::from_guard(std::uint32_t number, socket_ptr to)
{
    const auto self = shared_from_this();
    std::string buffer(piece, '\0');
    for (;;) {
        auto [failure, got] = co_await to->async_read_some(asio::buffer(buffer), as_tuple);
        if (failure) break;
        frame said{'d', number, buffer.substr(0, got)};
        const bool written = co_await write(std::move(said));
        if (!written) break;
    }
    close(number);
    frame end{'c', number, {}};
    co_await write(std::move(end));
}

void channel_relay::close(std::uint32_t number)
{
    const auto entry = open_.find(number);
    if (entry == open_.end()) return;
    boost::system::error_code ignored;
    entry->second->close(ignored);
    open_.erase(entry);
}

}  // namespace cmcp
