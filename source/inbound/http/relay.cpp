#include "http/relay.hpp"

#include "async/event.hpp"
#include "http/body_stream.hpp"
#include "streams/http_wire.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/serializer.hpp>

#include <array>
#include <chrono>
#include <optional>
#include <vector>

namespace cmcp {

namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

using boost::system::error_code;
using answer_parser = http::response_parser<http::buffer_body>;
using request_serializer = http::request_serializer<http::buffer_body>;

constexpr std::size_t piece_bytes = 32 * 1024;
constexpr std::uint32_t most_header = 64 * 1024;
constexpr int most_interim_answers = 16;
constexpr std::chrono::seconds patience_of_reader{30};  // of the other server

/// A request on its way through. Lives in the frame of relay().
class relayed_request {
public:
    relayed_request(exchange& x, byte_stream& to, const relay_rules& by)
        : x_(x), to_(to), by_(by), answer_due_(to.socket().get_executor()), piece_(piece_bytes)
    {
    }

    awaitable<> send()
    {
        relayed_request_head request = by_.request();
        const auto body = x_.request().stream;
        const bool has_body = body && frame(request, *body);
        request.body().data = nullptr;
        request.body().more = has_body;
        if (!body) put_body(request);
        if (has_body && by_.asks_for_body()) request.set(http::field::expect, "100-continue");
        request_serializer serializer(request);
        to_.expires_after(patience_of_reader);
        if (!body) co_return co_await send_whole(serializer);
        const auto sent = co_await write_message(to_, serializer, true);
        if (sent.failure || !has_body) co_return co_await wait_for_answer();
        if (by_.asks_for_body()) co_await wait_for_wish();
        if (!answered_) co_await send_body(request, serializer, *body);
    }

    awaitable<> answer()
    {
        co_await answer_or_switch();
        if (!tunnels_) stop_sending();
    }

    relay_end end() const { return {failure_, may_go_on_, other_place_}; }

private:
    // A body that has been read already.
    void put_body(relayed_request_head& request) const
    {
        auto& text = x_.request().body;
        if (text.empty() && !x_.request().header("content-length")) return;
        request.content_length(text.size());
        request.body().data = text.data();
        request.body().size = text.size();
    }

    // An error is told by the answer that does not come.
    awaitable<> send_whole(request_serializer& serializer)
    {
        co_await write_message(to_, serializer);
        co_await wait_for_answer();
    }

    // False: the request has no body.
    bool frame(relayed_request_head& request, const body_stream& body) const
    {
        const http_request& from = x_.request();
        const bool chunked = from.header("transfer-encoding").has_value();
        if (chunked) request.chunked(true);
        if (const auto length = from.header("content-length"); length && !chunked)
            request.content_length(body.announced().value_or(0));
        return chunked || body.announced().has_value();
    }

    awaitable<> wait_for_wish()
    {
        x_.watch([this] { to_.close(); });
        while (!wants_body_ && !answered_) co_await changed_.wait();
        x_.unwatch();
    }

    awaitable<> send_body(relayed_request_head& request, request_serializer& serializer, body_stream& body)
    {
        for (;;) {
            auto bytes = co_await body.next();
            if (!bytes && !body.complete()) co_return give_up_on_client();
            request.body().more = bytes.has_value();
            request.body().data = bytes ? bytes->data() : nullptr;
            request.body().size = bytes ? bytes->size() : 0;
            to_.expires_after(patience_of_reader);
            const auto sent = co_await write_message(to_, serializer);
            if (sent.failure && sent.failure != http::error::need_buffer) co_return;  // the answer tells why
            if (!bytes) co_return co_await wait_for_answer();
        }
    }

    void give_up_on_client()
    {
        client_broke_off_ = true;
        to_.close();
    }

    awaitable<> wait_for_answer()
    {
        if (answered_) co_return;
        if (!wants_websocket(x_.request())) x_.watch([this] { to_.close(); });
        if (begun_ || by_.patience() == std::chrono::seconds(0)) co_return;
        answer_due_.expires_after(by_.patience());
        co_await answer_due_.async_wait(as_tuple);
        late_ = !begun_ && !answered_;
        if (late_) to_.close();
    }

    // A client that still sends the body of a request that has its answer is not listened to.
    void stop_sending()
    {
        answered_ = true;
        changed_.notify();
        answer_due_.cancel();
        x_.unwatch();
        const auto body = x_.request().stream;
        const bool whole = !body || body->complete();
        if (!whole) x_.peer().abort();
        may_go_on_ = may_go_on_ && whole;
        if (!may_go_on_) to_.close();
    }

    awaitable<> answer_or_switch()
    {
        beast::flat_buffer buffer(2 * most_header);
        for (int interim = 0; interim != most_interim_answers; ++interim) {
            answer_parser parser;
            parser.header_limit(most_header);
            parser.body_limit(boost::none);
            if (x_.request().method == "HEAD") parser.skip(true);
            to_.expires_never();
            const auto error = co_await read_header(to_, buffer, parser);
            if (error) co_return fail(error);
            begun_ = parser.get().result_int() >= 200 || parser.get().result_int() == 101;
            if (begun_) answer_due_.cancel();
            const unsigned status = parser.get().result_int();
            wants_body_ = wants_body_ || status == 100;
            changed_.notify();
            if (status == 101) co_return co_await switch_protocol(parser.get(), buffer);
            other_place_ = by_.other_place(parser.get().base());
            if (!other_place_.empty()) co_return;
            if (status >= 200) co_return co_await pass_on(parser, buffer);
        }
        failure_ = by_.subject() + " sends interim answers without an end.";
    }

    void fail(const error_code& error)
    {
        if (x_.gone() || client_broke_off_) return;
        if (late_)
            failure_ = by_.subject() + " has not answered in time.";
        else if (error == http::error::end_of_stream || error == http::error::partial_message ||
                 error == asio::error::connection_reset || error == asio::error::eof)
            failure_ = by_.subject() + " ended the connection without an answer.";
        else
            failure_ = by_.subject() + " does not answer in HTTP/1.1 (" + error.message() + ").";
    }

    awaitable<> pass_on(answer_parser& parser, beast::flat_buffer& buffer)
    {
        const relayed_answer_head& header = parser.get().base();
        std::string head = by_.head_of_answer(header);
        const bool has_body = !parser.is_done() && x_.request().method != "HEAD";
        std::optional<std::uint64_t> length;
        if (const auto announced = parser.content_length()) length = *announced;
        const int status = static_cast<int>(header.result_int());
        const bool sent = co_await x_.begin_relayed(status, std::move(head), length, has_body);
        bool whole = sent;
        if (sent && has_body) whole = co_await pass_body(parser, buffer, length.has_value());
        if (!whole) x_.close_after();
        may_go_on_ = whole && parser.keep_alive() && buffer.size() == 0;
    }

    awaitable<bool> pass_body(answer_parser& parser, beast::flat_buffer& buffer, bool sized)
    {
        auto chunks = x_.body();
        while (!parser.is_done()) {
            auto& body = parser.get().body();
            body.data = piece_.data();
            body.size = piece_.size();
            to_.expires_never();
            const auto error = co_await read_some(to_, buffer, parser);
            const std::string_view bytes(piece_.data(), piece_.size() - parser.get().body().size);
            bool sent = true;
            if (!bytes.empty() && sized) sent = co_await x_.write_body(bytes);
            if (!bytes.empty() && !sized) sent = co_await chunks.write(bytes);
            if (!sent || (error && error != http::error::need_buffer)) co_return false;
        }
        if (sized) co_return true;
        const bool ended = co_await chunks.end();
        co_return ended;
    }

    awaitable<> switch_protocol(const relayed_answer_head& header, beast::flat_buffer& buffer)
    {
        std::string head = head_of_switch(header, x_.request());
        if (head.empty()) {
            failure_ = by_.subject() + " changes to another protocol, which nobody asked for.";
            co_return;
        }
        tunnels_ = true;
        x_.close_after();
        const bool sent = co_await x_.begin_relayed(101, std::move(head), std::nullopt, false);
        if (sent) co_await pass_bytes(buffer);
    }

    // Each side's bytes go to the other, until either ends. `first`: what the other server has sent already.
    awaitable<> pass_bytes(beast::flat_buffer& first)
    {
        to_.expires_never();
        const auto executor = co_await asio::this_coro::executor;
        auto group =
            asio::experimental::make_parallel_group(asio::co_spawn(executor, pass_up(), asio::deferred),
                                                    asio::co_spawn(executor, pass_down(first), asio::deferred));
        co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
    }

    awaitable<> pass_up()
    {
        client_socket& peer = x_.peer();
        for (bool more = true; more;) {
            const std::string_view bytes = peer.buffered();
            const auto sent = co_await to_.write(bytes);
            peer.buffer().consume(peer.buffer().size());
            if (sent.failure || tunnel_ended_) break;
            more = co_await peer.read_some();
        }
        to_.close();
    }

    awaitable<> pass_down(beast::flat_buffer& first)
    {
        client_socket& peer = x_.peer();
        const std::string_view bytes(static_cast<const char*>(first.cdata().data()), first.size());
        bool sent = co_await peer.write(bytes);
        while (sent) {
            const auto got = co_await to_.read_some(asio::buffer(piece_));
            if (got.failure) break;
            const std::string_view piece(piece_.data(), got.size);
            sent = co_await peer.write(piece);
        }
        tunnel_ended_ = true;
        peer.abort();
    }

    exchange& x_;
    byte_stream& to_;
    const relay_rules& by_;
    asio::steady_timer answer_due_;
    std::vector<char> piece_;
    std::string failure_;
    event changed_;            // one of the next two
    bool wants_body_ = false;  // the other server
    bool begun_ = false;       // the answer
    bool answered_ = false;    // whole
    bool late_ = false;
    bool tunnels_ = false;
    bool tunnel_ended_ = false;  // by the other server
    bool may_go_on_ = false;
    bool client_broke_off_ = false;
    std::string other_place_;
};

}  // namespace

awaitable<relay_end> relay(exchange& x, byte_stream& to, const relay_rules& by)
{
    const auto executor = co_await asio::this_coro::executor;
    relayed_request request(x, to, by);
    auto group = asio::experimental::make_parallel_group(asio::co_spawn(executor, request.send(), asio::deferred),
                                                         asio::co_spawn(executor, request.answer(), asio::deferred));
    auto [order, sent, answered] =
        co_await group.async_wait(asio::experimental::wait_for_one_error(), asio::use_awaitable);
    x.unwatch();
    for (const auto& failure : {sent, answered})
        if (failure) std::rethrow_exception(failure);
    co_return request.end();
}

}  // namespace cmcp
