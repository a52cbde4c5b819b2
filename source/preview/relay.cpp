#include "preview/relay.hpp"

#include "http/body_stream.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>

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
constexpr std::chrono::seconds patience_of_port{30};      // with a program that does not read
constexpr std::chrono::seconds patience_for_answer{300};  // from the end of the request to the answer's header

/// A request on its way through. Lives in the frame of relay().
class relayed_request {
public:
    relayed_request(exchange& x, beast::tcp_stream port, std::string target, preview_view view)
        : x_(x),
          port_(std::move(port)),
          answer_due_(port_.get_executor()),
          target_(std::move(target)),
          view_(std::move(view)),
          piece_(piece_bytes)
    {
    }

    awaitable<> send()
    {
        port_request request = request_to_port(x_.request(), target_, view_);
        const auto body = x_.request().stream;
        const bool has_body = body && frame(request, *body);
        request.body().data = nullptr;
        request.body().more = has_body;
        request_serializer serializer(request);
        port_.expires_after(patience_of_port);
        const auto [error, size] = co_await http::async_write_header(port_, serializer, as_tuple);
        if (error || !has_body) co_return co_await wait_for_answer();
        co_await send_body(request, serializer, *body);
    }

    awaitable<> answer()
    {
        co_await answer_or_switch();
        if (!tunnels_) stop_sending();
    }

    const std::string& failure() const { return failure_; }

private:
    // False: the request has no body.
    bool frame(port_request& request, const body_stream& body) const
    {
        const http_request& from = x_.request();
        const bool chunked = from.header("transfer-encoding").has_value();
        if (chunked) request.chunked(true);
        if (const auto length = from.header("content-length"); length && !chunked)
            request.content_length(body.announced().value_or(0));
        return chunked || body.announced().has_value();
    }

    awaitable<> send_body(port_request& request, request_serializer& serializer, body_stream& body)
    {
        for (;;) {
            auto bytes = co_await body.next();
            if (!bytes && !body.complete()) co_return give_up_on_client();
            request.body().more = bytes.has_value();
            request.body().data = bytes ? bytes->data() : nullptr;
            request.body().size = bytes ? bytes->size() : 0;
            port_.expires_after(patience_of_port);
            const auto [error, size] = co_await http::async_write(port_, serializer, as_tuple);
            if (error && error != http::error::need_buffer) co_return;  // the answer tells why it reads no more
            if (!bytes) co_return co_await wait_for_answer();
        }
    }

    void give_up_on_client()
    {
        client_broke_off_ = true;
        port_.close();
    }

    awaitable<> wait_for_answer()
    {
        if (answered_) co_return;
        if (!wants_websocket(x_.request())) x_.watch([this] { port_.close(); });
        if (begun_) co_return;
        answer_due_.expires_after(patience_for_answer);
        co_await answer_due_.async_wait(as_tuple);
        late_ = !begun_ && !answered_;
        if (late_) port_.close();
    }

    // A client that still sends the body of a request that has its answer is not listened to.
    void stop_sending()
    {
        answered_ = true;
        answer_due_.cancel();
        x_.unwatch();
        const auto body = x_.request().stream;
        if (body && !body->complete()) x_.peer().abort();
        port_.close();
    }

    awaitable<> answer_or_switch()
    {
        beast::flat_buffer buffer(2 * most_header);
        for (int interim = 0; interim != most_interim_answers; ++interim) {
            answer_parser parser;
            parser.header_limit(most_header);
            parser.body_limit(boost::none);
            if (x_.request().method == "HEAD") parser.skip(true);
            port_.expires_never();
            const auto [error, size] = co_await http::async_read_header(port_, buffer, parser, as_tuple);
            if (error) co_return fail(error);
            begun_ = parser.get().result_int() >= 200 || parser.get().result_int() == 101;
            if (begun_) answer_due_.cancel();
            const unsigned status = parser.get().result_int();
            if (status == 101) co_return co_await switch_protocol(parser.get(), buffer);
            if (status >= 200) co_return co_await pass_on(parser, buffer);
        }
        failure_ = "The program on this port sends interim answers without an end.";
    }

    void fail(const error_code& error)
    {
        if (x_.gone() || client_broke_off_) return;
        if (late_)
            failure_ = "The program on this port has not answered in time.";
        else if (error == http::error::end_of_stream || error == http::error::partial_message ||
                 error == asio::error::connection_reset || error == asio::error::eof)
            failure_ = "The program on this port ended the connection without an answer.";
        else
            failure_ = "The program on this port does not answer in HTTP/1.1 (" + error.message() + ").";
    }

    awaitable<> pass_on(answer_parser& parser, beast::flat_buffer& buffer)
    {
        const port_answer& header = parser.get().base();
        std::string head = head_of_answer(header, target_, view_);
        const bool has_body = !parser.is_done() && x_.request().method != "HEAD";
        std::optional<std::uint64_t> length;
        if (const auto announced = parser.content_length()) length = *announced;
        const int status = static_cast<int>(header.result_int());
        const bool sent = co_await x_.begin_relayed(status, std::move(head), length, has_body);
        if (!sent || !has_body) co_return;
        const bool whole = co_await pass_body(parser, buffer, length.has_value());
        if (!whole) x_.close_after();
    }

    awaitable<bool> pass_body(answer_parser& parser, beast::flat_buffer& buffer, bool sized)
    {
        auto chunks = x_.body();
        while (!parser.is_done()) {
            auto& body = parser.get().body();
            body.data = piece_.data();
            body.size = piece_.size();
            port_.expires_never();
            const auto [error, size] = co_await http::async_read_some(port_, buffer, parser, as_tuple);
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

    awaitable<> switch_protocol(const port_answer& header, beast::flat_buffer& buffer)
    {
        std::string head = head_of_switch(header, x_.request());
        if (head.empty()) {
            failure_ = "The program on this port changes to another protocol, which nobody asked for.";
            co_return;
        }
        tunnels_ = true;
        x_.close_after();
        const bool sent = co_await x_.begin_relayed(101, std::move(head), std::nullopt, false);
        if (!sent) co_return;
        port_.expires_never();
        const auto executor = co_await asio::this_coro::executor;
        auto group =
            asio::experimental::make_parallel_group(asio::co_spawn(executor, pass_up(), asio::deferred),
                                                    asio::co_spawn(executor, pass_down(buffer), asio::deferred));
        co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
    }

    awaitable<> pass_up()
    {
        client_socket& peer = x_.peer();
        for (bool more = true; more;) {
            const auto bytes = peer.buffer().data();
            const auto [error, size] = co_await asio::async_write(port_, bytes, as_tuple);
            peer.buffer().consume(peer.buffer().size());
            if (error || tunnel_ended_) break;
            more = co_await peer.read_some();
        }
        port_.close();
    }

    awaitable<> pass_down(beast::flat_buffer& buffer)
    {
        client_socket& peer = x_.peer();
        std::string_view bytes(static_cast<const char*>(buffer.cdata().data()), buffer.size());
        bool sent = co_await peer.write(bytes);
        while (sent) {
            const auto [error, size] = co_await port_.async_read_some(asio::buffer(piece_), as_tuple);
            if (error) break;
            const std::string_view piece(piece_.data(), size);
            sent = co_await peer.write(piece);
        }
        tunnel_ended_ = true;
        peer.abort();
    }

    exchange& x_;
    beast::tcp_stream port_;
    asio::steady_timer answer_due_;
    std::string target_;
    preview_view view_;
    std::vector<char> piece_;
    std::string failure_;
    bool begun_ = false;     // the answer
    bool answered_ = false;  // whole
    bool late_ = false;
    bool tunnels_ = false;
    bool tunnel_ended_ = false;  // by the program
    bool client_broke_off_ = false;
};

}  // namespace

awaitable<std::string> relay(exchange& x, beast::tcp_stream port, std::string target, preview_view view)
{
    const auto executor = co_await asio::this_coro::executor;
    relayed_request request(x, std::move(port), std::move(target), std::move(view));
    auto group = asio::experimental::make_parallel_group(asio::co_spawn(executor, request.send(), asio::deferred),
                                                         asio::co_spawn(executor, request.answer(), asio::deferred));
    auto [order, sent, answered] =
        co_await group.async_wait(asio::experimental::wait_for_one_error(), asio::use_awaitable);
    x.unwatch();
    for (const auto& failure : {sent, answered})
        if (failure) std::rethrow_exception(failure);
    co_return request.failure();
}

}  // namespace cmcp
