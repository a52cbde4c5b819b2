#include "egress/proxy_connection.hpp"

#include "egress/message_passing.hpp"
#include "egress/named_request.hpp"
#include "egress/web_url.hpp"
#include "text/number.hpp"

#include <boost/asio/write.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/serializer.hpp>

#include <string>

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

web_url absolute_url(std::string_view target)
{
    auto url = web_url::parse(target);
    if (url.secure) throw bad_url("only http:// addresses can be asked for; use CONNECT for others.");
    return url;
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

bool proxy_connection::takes_upgrade(const request_parser& parser) const
{
    return (target_ || ticket_->held_to_names()) && begins_websocket(parser);
}

awaitable<bool> proxy_connection::forward(request_parser& request)
{
    std::optional<web_url> url;
    std::string problem;
    try {
        url = target_ ? named_request_url(request.get(), target_->who, target_->port)
                      : absolute_url(std::string_view(request.get().target()));
    } catch (const bad_url& failure) {
        problem = failure.what();
    }
    if (!url && target_) co_await refuse("host", problem);
    if (!url && !target_) co_await answer(400, "bad request", problem);
    if (!url) co_return false;
    const auto secret_problem = target_ ? std::string() : plain_problem(url->who, url->port);
    if (!secret_problem.empty()) {
        note_refusal(url->who, url->port, "secret", secret_problem);
        co_await answer(403, "secret", secret_problem);
        co_return false;
    }
    const bool was_head = request.get().method() == http::verb::head;
    const bool client_stays = request.keep_alive();
    const bool upgrades = takes_upgrade(request);
    bool reached = target_ && fresh_;
    if (!reached) reached = co_await reach(url->who, url->port);
    if (!reached) co_return false;
    fresh_ = false;
    erase_hop_by_hop(request.get());
    request.get().target(url->target);
    request.get().set(http::field::host, url->authority());
    request.get().set(http::field::connection, "close");
    if (upgrades) keep_upgrade(request.get());
    request.get().version(11);
    const bool sent = co_await send_request(request);
    if (!sent) co_return false;
    const bool stays = co_await send_response(was_head, client_stays, upgrades);
    co_return stays;
}

awaitable<bool> proxy_connection::send_request(request_parser& request)
{
    const auto count = [this](std::size_t bytes) { return moved(bytes); };
    byte_stream client(client_), upstream(upstream_->socket);
    const bool sent = co_await pass_on<true>(client, from_client_, request, upstream, count);
    co_return sent;
}

awaitable<bool> proxy_connection::send_response(bool was_head, bool client_stays, bool upgrades)
{
    byte_stream client(client_), upstream(upstream_->socket);
    std::optional<response_parser> response;
    do {  // 1xx answers are for us, but for the one that ends HTTP
        response.emplace();
        response->header_limit(header_limit);
        response->body_limit(boost::none);
        response->skip(was_head);
        const auto failure = co_await read_header(upstream, from_upstream_, *response);
        if (failure && client_.is_open()) {
            std::string sentence = bad_answer_sentence(upstream_name_, failure);
            ticket_->add_refusal({upstream_name_, upstream_port_, "bad response", sentence});
            co_await answer(502, "bad response", std::move(sentence));
        }
        if (failure) co_return false;
        note_moved();
        upgrades = upgrades && response->get().result() == http::status::switching_protocols;
    } while (response->get().result_int() / 100 == 1 && !upgrades);
    auto& head = response->get();
    erase_hop_by_hop(head);
    head.version(11);
    if (response->need_eof()) head.chunked(true);
    head.keep_alive(client_stays);
    if (upgrades) keep_upgrade(head);
    const auto count = [this](std::size_t bytes) { return moved(bytes); };
    if (was_head || response->is_done()) {
        http::serializer<false, http::buffer_body> serializer(head);
        const auto sent = co_await write_message(client, serializer, true);
        if (sent.failure || !count(sent.size)) co_return false;
        if (upgrades) co_await relay();
        co_return client_stays && !upgrades;
    }
    const bool whole = co_await pass_on<false>(upstream, from_upstream_, *response, client, count);
    co_return whole&& client_stays;
}

}  // namespace cmcp
