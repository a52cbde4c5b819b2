#include "sandboxes/package_relay.hpp"

#include "async/event.hpp"
#include "async/task_group.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/endian/conversion.hpp>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t longest_data = 1 << 20;
constexpr std::size_t most_connections = 64;
constexpr std::size_t piece = 64 * 1024;

class package_relay : public std::enable_shared_from_this<package_relay> {
public:
    package_relay(asio::any_io_executor executor, unique_fd channel, std::uint16_t port)
        : executor_(executor), channel_(executor, channel.release()), port_(port), tasks_(executor)
    {
    }
    awaitable<> run();

private:
    struct frame {
        char kind = 0;
        std::uint32_t number = 0;
        std::string data;
    };
    using head = std::array<unsigned char, 9>;
    using socket_ptr = std::shared_ptr<asio::ip::tcp::socket>;

    awaitable<bool> read(frame& into);
    awaitable<bool> write(frame what);
    awaitable<> open(std::uint32_t number);
    awaitable<> from_guard(std::uint32_t number, socket_ptr to);
    void close(std::uint32_t number);

    asio::any_io_executor executor_;
    asio::posix::stream_descriptor channel_;
    std::uint16_t port_;
    std::map<std::uint32_t, socket_ptr> open_;
    event changed_;
    bool writing_ = false;
    task_group tasks_;
};

awaitable<bool> package_relay::read(frame& into)
{
    head bytes{};
    auto [failure, got] = co_await asio::async_read(channel_, asio::buffer(bytes), as_tuple);
    if (failure) co_return false;
    into.kind = static_cast<char>(bytes[0]);
    into.number = boost::endian::load_big_u32(bytes.data() + 1);
    const std::size_t size = boost::endian::load_big_u32(bytes.data() + 5);
    if (size > longest_data) co_return false;
    into.data.resize(size);
    auto [late_failure, rest] = co_await asio::async_read(channel_, asio::buffer(into.data), as_tuple);
    co_return !late_failure;
}

// Frames are written one at a time, whole.
awaitable<bool> package_relay::write(frame what)
{
    while (writing_) co_await changed_.wait();
    writing_ = true;
    head bytes{static_cast<unsigned char>(what.kind)};
    boost::endian::store_big_u32(bytes.data() + 1, what.number);
    boost::endian::store_big_u32(bytes.data() + 5, static_cast<std::uint32_t>(what.data.size()));
    const std::array<asio::const_buffer, 2> whole{asio::buffer(bytes), asio::buffer(what.data)};
    auto [failure, sent] = co_await asio::async_write(channel_, whole, as_tuple);
    writing_ = false;
    changed_.notify();
    co_return !failure;
}

awaitable<> package_relay::run()
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

awaitable<> package_relay::open(std::uint32_t number)
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
    tasks_.spawn("package connection", from_guard(number, std::move(connection)));
}

awaitable<> package_relay::from_guard(std::uint32_t number, socket_ptr to)
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

void package_relay::close(std::uint32_t number)
{
    const auto entry = open_.find(number);
    if (entry == open_.end()) return;
    boost::system::error_code ignored;
    entry->second->close(ignored);
    open_.erase(entry);
}

}  // namespace

awaitable<> relay_packages(unique_fd channel, std::uint16_t port)
{
    const auto executor = co_await asio::this_coro::executor;
    const auto relay = std::make_shared<package_relay>(executor, std::move(channel), port);
    co_await relay->run();
}

}  // namespace cmcp
