#include "egress/named_request.hpp"
#include "egress/proxy_connection.hpp"
#include "egress/web_url.hpp"
#include "text/ascii.hpp"

#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>

#include <string>
#include <vector>

namespace cmcp {

namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

std::string bad_answer_sentence(const std::string& name, error_code failure)
{
    if (failure == http::error::end_of_stream) return name + " closed the connection without an answer.";
    if (failure == http::error::partial_message) return name + " closed the connection before its answer was whole.";
    if (failure == http::error::header_limit || failure == http::error::buffer_overflow)
        return name + " sent a header of more than 64 KiB; it was cut off.";
    return name + " sent no valid HTTP answer: " + failure.message() + ".";
}

/// Takes out the fields for one connection only (RFC 9110 section 7.6.1), and those that a proxy must not pass on.
template <class Message>
void erase_hop_by_hop(Message& message)
{
    const std::string named(message[http::field::connection]);
    using http::field;
    for (const auto token : http::token_list(named)) {
        const auto name = http::string_to_field(token);  // the body is passed on, so what frames it is, too
        if (name != field::content_length && name != field::transfer_encoding) message.erase(token);
    }
    for (const auto name : {field::connection, field::proxy_connection, field::keep_alive, field::proxy_authorization,
                            field::proxy_authenticate, field::te, field::upgrade, field::expect})
        message.erase(name);
}

template <class Message>
void keep_upgrade(Message& message)
{
    message.set(http::field::upgrade, "websocket");
    message.set(http::field::connection, "Upgrade");
}

web_url absolute_url(std::string_view target)
{
    auto url = web_url::parse(target);
    if (url.secure) throw bad_url("only http:// addresses can be asked for; use CONNECT for others.");
    return url;
}

bool ok_or_more(boost::system::error_code failure) { return !failure || failure == http::error::need_buffer; }

/// Sends the message whose header `parser` has read, its body piece by piece as it comes in. `count` gets the bytes
/// sent and ends the relay by false. True: the whole message was passed on.
template <bool isRequest, class Parser, class Count>
awaitable<bool> pass_on(asio::ip::tcp::socket& from, beast::flat_buffer& buffer, Parser& parser,
                        asio::ip::tcp::socket& to, Count& count)
{
    http::serializer<isRequest, http::buffer_body> serializer(parser.get());
    auto& body = parser.get().body();
    constexpr std::size_t piece_bytes = 64 * 1024;
    std::vector<char> piece(parser.is_done() ? 0 : piece_bytes);
    if (!parser.is_done()) buffer.reserve(piece_bytes);  // Beast reads as much at once as there is room for
    for (bool header = true; header || !parser.is_done() || !serializer.is_done(); header = false) {
        body.data = nullptr;
        body.size = 0;
        if (!header && !parser.is_done()) {
            body.data = piece.data();
            body.size = piece.size();
            auto [failure, got] = co_await http::async_read_some(from, buffer, parser, as_tuple);
            if (!ok_or_more(failure)) co_return false;
            body.size = piece.size() - body.size;
            body.data = piece.data();
        }
        body.more = !parser.is_done();
        if (!header && body.more && body.size == 0) continue;
        if (body.size == 0) body.data = nullptr;  // a piece of no bytes would be a chunk of its own
        auto [failure, sent] = co_await http::async_write(to, serializer, as_tuple);
        if (!ok_or_more(failure) || !count(sent)) co_return false;
        if (serializer.is_done()) break;
    }
    co_return parser.is_done();
}

}  // namespace

// RFC 6455 section 4.1. Only a request without a body, because its end would be read as the new protocol's begin.
bool proxy_connection::takes_upgrade(const request_parser& parser) const
{
    const auto& request = parser.get();
    const std::string connection(request[http::field::connection]);
    return (place_ || ticket_->held_to_names()) && parser.is_done() && request.method() == http::verb::get &&
           equal_ignoring_case(request[http::field::upgrade], "websocket") &&
           http::token_list(connection).exists("upgrade");
}

awaitable<bool> proxy_connection::forward(request_parser& request)
{
    std::optional<web_url> url;
    std::string problem;
    try {
        url = place_ ? named_request_url(request.get(), place_->who, place_->port)
                     : absolute_url(std::string_view(request.get().target()));
    } catch (const bad_url& failure) {
        problem = failure.what();
    }
    if (!url && place_) co_await refuse("host", problem);
    if (!url && !place_) co_await answer(400, "bad request", problem);
    if (!url) co_return false;
    const bool was_head = request.get().method() == http::verb::head;
    const bool client_stays = request.keep_alive();
    const bool upgrades = takes_upgrade(request);
    bool reached = place_ && fresh_;
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
    const bool sent = co_await pass_on<true>(client_, from_client_, request, upstream_->socket, count);
    co_return sent;
}

awaitable<bool> proxy_connection::send_response(bool was_head, bool client_stays, bool upgrades)
{
    std::optional<response_parser> response;
    do {  // 1xx answers are for us, but for the one that ends HTTP
        response.emplace();
        response->header_limit(header_limit);
        response->body_limit(boost::none);
        response->skip(was_head);
        auto [failure, got] = co_await http::async_read_header(upstream_->socket, from_upstream_, *response, as_tuple);
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
        auto [failure, sent] = co_await http::async_write_header(client_, serializer, as_tuple);
        if (failure || !count(sent)) co_return false;
        if (upgrades) co_await relay();
        co_return client_stays && !upgrades;
    }
    const bool whole = co_await pass_on<false>(upstream_->socket, from_upstream_, *response, client_, count);
    co_return whole&& client_stays;
}

}  // namespace cmcp
