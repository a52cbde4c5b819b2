#include "egress/egress_relay.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <vector>

namespace cmcp {

namespace {

using boost::system::error_code;
using tcp = asio::ip::tcp;

}  // namespace

egress_relay::egress_relay(stream_socket client, std::shared_ptr<egress_ticket> ticket)
    : client_(std::move(client)),
      ticket_(std::move(ticket)),
      from_client_(2 * header_limit),
      from_upstream_(2 * header_limit),
      idle_(client_.get_executor())
{
    error_code ignored;
    client_.set_option(tcp::no_delay(true), ignored);
}

void egress_relay::close()
{
    error_code ignored;
    client_.close(ignored);
    if (upstream_) upstream_->socket.close(ignored);
}

// A deadline on one direction would cut the other one, which may be busy.
void egress_relay::watch_idle()
{
    note_moved();
    wait_until_idle();
}

void egress_relay::wait_until_idle()
{
    idle_.expires_at(last_moved_ + ticket_->limits().idle);
    idle_.async_wait([weak = weak_from_this()](error_code failure) {
        const auto self = weak.lock();
        if (failure || !self) return;
        if (clock::now() >= self->last_moved_ + self->ticket_->limits().idle) return self->close();
        self->wait_until_idle();
    });
}

bool egress_relay::moved(std::size_t bytes)
{
    note_moved();
    if (ticket_->count(bytes)) return true;
    ticket_->add_refusal({upstream_name_, upstream_port_, "bytes", ticket_->refusal_of_bytes()});
    close();
    return false;
}

awaitable<std::optional<egress_error>> egress_relay::connect(host who, std::uint16_t port)
{
    std::optional<egress_error> problem;
    try {
        upstream_.reset();
        from_upstream_.clear();
        upstream_name_ = who.name;
        upstream_port_ = port;
        auto connection = co_await egress_connect(ticket_, std::move(who), port);
        upstream_.emplace(std::move(connection));
    } catch (const egress_error& failure) {
        problem = failure;
    }
    note_moved();
    co_return problem;
}

void egress_relay::hear(std::string_view bytes) const
{
    if (hear_upstream_) hear_upstream_(bytes);
}

awaitable<> egress_relay::copy(std::shared_ptr<egress_relay> self, bool outward)
{
    auto& from = outward ? self->client_ : self->upstream_->socket;
    auto& to = outward ? self->upstream_->socket : self->client_;
    auto& read_before = outward ? self->from_client_ : self->from_upstream_;
    const std::size_t before = read_before.size();
    if (before > 0 && !self->moved(before)) co_return;
    if (!outward) self->hear({static_cast<const char*>(read_before.data().data()), before});
    auto [failed, first] = co_await asio::async_write(to, read_before.data(), as_tuple);
    if (failed) co_return self->close();
    read_before.clear();
    std::vector<char> piece(relay_piece_size);
    for (;;) {
        auto [failure, got] = co_await from.async_read_some(asio::buffer(piece), as_tuple);
        if (failure == asio::error::eof) break;
        if (failure || !self->moved(got)) co_return self->close();
        if (!outward) self->hear({piece.data(), got});
        auto [stopped, sent] = co_await asio::async_write(to, asio::buffer(piece.data(), got), as_tuple);
        if (stopped) co_return self->close();
        self->note_moved();
    }
    error_code ignored;
    to.shutdown(stream_socket::shutdown_send, ignored);
}

awaitable<> egress_relay::relay() { co_await relay(copy(shared_from_this(), true)); }

awaitable<> egress_relay::relay(awaitable<> outward)
{
    auto inward = copy(shared_from_this(), false);
    co_await relay(std::move(outward), std::move(inward));
}

awaitable<> egress_relay::relay(awaitable<> outward, awaitable<> inward)
{
    auto executor = co_await asio::this_coro::executor;
    auto both = asio::experimental::make_parallel_group(asio::co_spawn(executor, std::move(outward), asio::deferred),
                                                        asio::co_spawn(executor, std::move(inward), asio::deferred));
    co_await both.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
}

}  // namespace cmcp
