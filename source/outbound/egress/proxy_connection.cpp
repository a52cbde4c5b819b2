#include "egress/proxy_connection.hpp"

#include "egress/message_passing.hpp"
#include "text/number.hpp"

#include <boost/asio/write.hpp>

namespace cmcp {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

// host:port of CONNECT; both must be there.
std::optional<egress_target> read_connect_target(std::string_view text)
{
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos || text.find('@') != std::string_view::npos) return std::nullopt;
    const auto port = read_number<std::uint16_t>(text.substr(colon + 1));
    if (!port || *port == 0) return std::nullopt;
    try {
        return egress_target{read_host(text.substr(0, colon)), *port};
    } catch (const bad_host&) {
        return std::nullopt;
    }
}

// RFC 8446 section 6.2: a fatal alert in a record of its own.
std::string tls_alert(unsigned status, bool of_name)
{
    constexpr char internal_error = 80, access_denied = 49, unrecognized_name = 112;
    std::string record("\x15\x03\x03\x00\x02\x02", 6);
    return record += of_name ? unrecognized_name : status == 403 ? access_denied : internal_error;
}

}  // namespace

unsigned proxy_connection::status_of(egress_error::kind is)
{
    constexpr unsigned statuses[] = {403, 502, 502, 504, 503, 413};
    return statuses[static_cast<int>(is)];
}

proxy_connection::proxy_connection(stream_socket client, std::shared_ptr<egress_ticket> ticket,
                                   std::optional<egress_target> target)
    : egress_relay(std::move(client), std::move(ticket)), target_(std::move(target))
{
}

awaitable<> proxy_connection::run(std::shared_ptr<proxy_connection> self)
{
    self->watch_idle();
    if (self->target_)
        co_await self->serve_target();
    else
        co_await self->serve_requests();
    error_code ignored;
    self->client_.shutdown(stream_socket::shutdown_send, ignored);
    self->close();
}

awaitable<> proxy_connection::serve_requests()
{
    for (bool more = true; more;) more = co_await serve_one();
}

awaitable<bool> proxy_connection::serve_one()
{
    request_parser request;
    request.header_limit(header_limit);
    request.body_limit(boost::none);
    byte_stream client(client_);
    const auto failure = co_await read_header(client, from_client_, request);
    if (failure) co_return false;
    note_moved();
    if (!target_ && request.get().method() == http::verb::connect) {
        std::string target(request.get().target());
        co_await tunnel(std::move(target));
        co_return false;
    }
    const bool stays = co_await forward(request);
    co_return stays;
}

awaitable<> proxy_connection::answer(unsigned status, std::string rule, std::string sentence)
{
    if (speaks_ == dialect::other) co_return;
    if (speaks_ == dialect::tls) {
        const std::string alert = tls_alert(status, rule == "server name");
        co_await asio::async_write(client_, asio::buffer(alert), as_tuple);
        co_return;
    }
    const std::string reply = guards_answer(status, rule, sentence);
    co_await asio::async_write(client_, asio::buffer(reply), as_tuple);
}

awaitable<bool> proxy_connection::reach(host who, std::uint16_t port)
{
    const auto problem = co_await connect(std::move(who), port);
    fresh_ = !problem;
    if (problem) co_await answer(status_of(problem->is), problem->rule, problem->what());
    co_return !problem && client_.is_open();
}

awaitable<> proxy_connection::tunnel(std::string target)
{
    auto to = read_connect_target(target);
    if (!to) {
        co_await answer(400, "bad request", "CONNECT needs host:port.");
        co_return;
    }
    const bool reached = co_await reach(to->who, to->port);
    if (!reached) co_return;
    constexpr std::string_view established = "HTTP/1.1 200 OK\r\n\r\n";
    auto [failure, written] = co_await asio::async_write(client_, asio::buffer(established), as_tuple);
    if (failure) co_return;
    if (ticket_->held_to_names()) {
        target_ = std::move(to);
        co_await serve_target();
    } else {
        co_await relay();
    }
}

}  // namespace cmcp
