#include "egress/message_passing.hpp"
#include "egress/named_request.hpp"
#include "egress/proxy_connection.hpp"
#include "egress/web_url.hpp"

#include <boost/beast/http/field.hpp>
#include <boost/beast/http/serializer.hpp>

#include <string>

namespace cmcp {

namespace {

namespace beast = boost::beast;
namespace http = beast::http;

web_url absolute_url(std::string_view target)
{
    auto url = web_url::parse(target);
    if (url.secure) throw bad_url("only http:// addresses can be asked for; use CONNECT for others.");
    return url;
}

}  // namespace

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
