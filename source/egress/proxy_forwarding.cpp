#include "egress/proxy_connection.hpp"
#include "egress/web_url.hpp"

#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>
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
    for (const auto token : http::token_list(named)) message.erase(token);
    using http::field;
    for (const auto name : {field::connection, field::proxy_connection, field::keep_alive, field::proxy_authorization,
                            field::proxy_authenticate, field::te, field::upgrade, field::expect})
        message.erase(name);
}

bool wants_websocket(const http::request_header<>& head)
{
    return beast::iequals(head[http::field::upgrade], "websocket") &&
           http::token_list(head[http::field::connection]).exists("upgrade");
}

void keep_upgrade(http::fields& of)
{
    of.set(http::field::connection, "upgrade");
    of.set(http::field::upgrade, "websocket");
}

bool ok_or_more(boost::system::error_code failure) { return !failure || failure == http::error::need_buffer; }

/// Sends the message whose header `parser` has read, its body piece by piece as it comes in. `count` gets the bytes
/// sent and ends the relay by false. True: the whole message was passed on.
template <bool isRequest, class Parser, class Count>
awaitable<bool> pass_on(asio::ip::tcp::socket& from, beast::flat_buffer& buffer, Parser& parser,
                        asio::ip::tcp::socket& to, std::vector<char>& piece, Count& count)
{
    http::serializer<isRequest, http::buffer_body> serializer(parser.get());
    auto& body = parser.get().body();
    if (!parser.is_done()) buffer.reserve(piece.size());  // Beast reads as much at once as there is room for
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

awaitable<bool> proxy_connection::forward(request_parser& request)
{
    std::string problem;
    const auto url = target_of(request, problem);
    if (!url) {
        const unsigned status = named_ ? 403 : 400;
        const std::string rule = named_ ? "name" : "bad request";
        co_await answer(status, rule, std::move(problem));
        co_return false;
    }
    const bool was_head = request.get().method() == http::verb::head;
    const bool upgrades = named_ && wants_websocket(request.get());
    const bool client_stays = request.keep_alive();
    const bool reached = co_await reach(url->who, url->port);
    if (!reached) co_return false;
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
    const bool sent = co_await pass_on<true>(client_, from_client_, request, upstream_->socket, piece_, count);
    co_return sent;
}

awaitable<bool> proxy_connection::switch_protocol(response_parser& response)
{
    auto& head = response.get();
    erase_hop_by_hop(head);
    keep_upgrade(head);
    http::serializer<false, http::buffer_body> serializer(head);
    auto [failure, sent] = co_await http::async_write_header(client_, serializer, as_tuple);
    if (failure) co_return false;
    auto [stopped, early] = co_await asio::async_write(client_, from_upstream_.data(), as_tuple);
    if (!stopped && moved(sent + early)) co_await pass_both_ways();
    co_return false;
}

awaitable<bool> proxy_connection::send_response(bool was_head, bool client_stays, bool upgrades)
{
    std::optional<response_parser> response;
    do {  // 1xx answers are for us
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
        last_moved_ = clock::now();
        const bool switches = response->get().result() == http::status::switching_protocols;
        if (switches && upgrades) co_return co_await switch_protocol(*response);
    } while (response->get().result_int() / 100 == 1);
    auto& head = response->get();
    erase_hop_by_hop(head);
    head.version(11);
    if (response->need_eof()) head.chunked(true);
    head.keep_alive(client_stays);
    const auto count = [this](std::size_t bytes) { return moved(bytes); };
    if (was_head || response->is_done()) {
        http::serializer<false, http::buffer_body> serializer(head);
        auto [failure, sent] = co_await http::async_write_header(client_, serializer, as_tuple);
        co_return !failure && count(sent) && client_stays;
    }
    const bool whole = co_await pass_on<false>(upstream_->socket, from_upstream_, *response, client_, piece_, count);
    co_return whole&& client_stays;
}

}  // namespace cmcp
