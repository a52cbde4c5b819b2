#include "egress/proxy_connection.hpp"

#include "text/number.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

namespace cmcp {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using tcp = ip::tcp;

constexpr std::size_t relay_piece_size = 64 * 1024;

unsigned status_of(egress_error::kind kind)
{
    constexpr unsigned statuses[] = {403, 502, 502, 504, 503, 413};
    return statuses[static_cast<int>(kind)];
}

// host:port of CONNECT; both must be there.
std::optional<egress_place> read_connect_target(std::string_view text)
{
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos || text.find('@') != std::string_view::npos) return std::nullopt;
    const auto port = read_number<std::uint16_t>(text.substr(colon + 1));
    if (!port || *port == 0) return std::nullopt;
    try {
        return egress_place{read_host(text.substr(0, colon)), *port};
    } catch (const bad_host&) {
        return std::nullopt;
    }
}

}  // namespace

proxy_connection::proxy_connection(tcp::socket client, std::shared_ptr<egress_ticket> ticket,
                                   std::optional<egress_place> stands_for)
    : client_(std::move(client)),
      ticket_(std::move(ticket)),
      named_(std::move(stands_for)),
      from_client_(2 * header_limit),
      from_upstream_(2 * header_limit),
      piece_(relay_piece_size),
      idle_(client_.get_executor())
{
    error_code ignored;
    client_.set_option(tcp::no_delay(true), ignored);
}

void proxy_connection::close()
{
    error_code ignored;
    client_.close(ignored);
    if (upstream_) upstream_->socket.close(ignored);
}

// A deadline on one direction would cut the other one, which may be busy.
void proxy_connection::watch_idle()
{
    last_moved_ = clock::now();
    wait_until_idle();
}

void proxy_connection::wait_until_idle()
{
    idle_.expires_at(last_moved_ + ticket_->limits().idle);
    idle_.async_wait([weak = weak_from_this()](error_code failure) {
        const auto self = weak.lock();
        if (failure || !self) return;
        if (clock::now() >= self->last_moved_ + self->ticket_->limits().idle) return self->close();
        self->wait_until_idle();
    });
}

bool proxy_connection::moved(std::size_t bytes)
{
    last_moved_ = clock::now();
    if (ticket_->count(bytes)) return true;
    const std::string limit = std::to_string(ticket_->limits().bytes >> 20) + " MiB";
    std::string sentence = "Cut: more than the limit of " + limit + " was transferred.";
    ticket_->add_refusal({upstream_name_, upstream_port_, "bytes", std::move(sentence)});
    close();
    return false;
}

awaitable<> proxy_connection::run(std::shared_ptr<proxy_connection> self)
{
    self->watch_idle();
    if (self->named_) co_await self->serve_named();
    for (bool more = !self->named_; more;) more = co_await self->serve_one();
    error_code ignored;
    self->client_.shutdown(tcp::socket::shutdown_send, ignored);
    self->close();
}

awaitable<bool> proxy_connection::serve_one()
{
    request_parser request;
    request.header_limit(header_limit);
    request.body_limit(boost::none);
    auto [failure, got] = co_await http::async_read_header(client_, from_client_, request, as_tuple);
    if (failure) co_return false;
    last_moved_ = clock::now();
    if (request.get().method() == http::verb::connect) {
        std::string target(request.get().target());
        co_await tunnel(std::move(target));
        co_return false;
    }
    const bool stays = co_await forward(request);
    co_return stays;
}

awaitable<> proxy_connection::answer(unsigned status, std::string rule, std::string sentence)
{
    constexpr std::string_view unrecognized_name("\x15\x03\x03\x00\x02\x02\x70", 7);  // RFC 8446 section 6
    if (speaks_ == client_opening::kind::tls)
        co_await asio::async_write(client_, asio::buffer(unrecognized_name), as_tuple);
    if (speaks_ != client_opening::kind::http) co_return;
    http::response<http::string_body> reply(static_cast<http::status>(status), 11);
    reply.set(http::field::content_type, "text/plain; charset=utf-8");
    reply.set("X-Egress-Rule", rule);
    reply.body() = sentence + "\n";
    reply.keep_alive(false);
    reply.prepare_payload();
    co_await http::async_write(client_, reply, as_tuple);
}

awaitable<bool> proxy_connection::reach(host who, std::uint16_t port)
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
    last_moved_ = clock::now();
    if (problem) co_await answer(status_of(problem->is), problem->rule, problem->what());
    co_return !problem && client_.is_open();
}

awaitable<> proxy_connection::copy(std::shared_ptr<proxy_connection> self, bool outward)
{
    auto& from = outward ? self->client_ : self->upstream_->socket;
    auto& to = outward ? self->upstream_->socket : self->client_;
    std::vector<char> piece(relay_piece_size);
    for (;;) {
        auto [failure, got] = co_await from.async_read_some(asio::buffer(piece), as_tuple);
        if (failure == asio::error::eof) break;
        if (failure || !self->moved(got)) co_return self->close();
        auto [stopped, sent] = co_await asio::async_write(to, asio::buffer(piece.data(), got), as_tuple);
        if (stopped) co_return self->close();
        self->last_moved_ = clock::now();
    }
    error_code ignored;
    to.shutdown(tcp::socket::shutdown_send, ignored);
}

awaitable<bool> proxy_connection::tunnel(std::string target)
{
    const auto to = read_connect_target(target);
    if (!to) {
        co_await answer(400, "bad request", "CONNECT needs host:port.");
        co_return false;
    }
    const bool reached = co_await reach(to->who, to->port);
    if (!reached) co_return false;
    http::response<http::empty_body> established(http::status::ok, 11);
    http::response_serializer<http::empty_body> serializer(established);
    auto [failure, written] = co_await http::async_write_header(client_, serializer, as_tuple);
    if (failure) co_return false;
    if (ticket_->holds_to_names()) {
        named_ = *to;
        co_await serve_named();
    } else {
        co_await pass_both_ways();
    }
    co_return false;
}

awaitable<> proxy_connection::pass_both_ways()
{
    auto [stopped, sent] = co_await asio::async_write(upstream_->socket, from_client_.data(), as_tuple);
    from_client_.clear();
    if (stopped || !moved(sent)) co_return;
    auto executor = co_await asio::this_coro::executor;
    auto self = shared_from_this();
    auto both = asio::experimental::make_parallel_group(asio::co_spawn(executor, copy(self, true), asio::deferred),
                                                        asio::co_spawn(executor, copy(self, false), asio::deferred));
    co_await both.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
}

}  // namespace cmcp
