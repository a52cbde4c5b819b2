#include "http/websocket.hpp"

#include "http/relayed_fields.hpp"
#include "jsonrpc/write_json.hpp"
#include "text/ascii.hpp"

#include <boost/asio/compose.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket.hpp>

#include <array>
#include <charconv>
#include <chrono>
#include <utility>

namespace cmcp {

namespace beast = boost::beast;

namespace {

constexpr std::chrono::seconds patience_with_handshake(10);
constexpr std::chrono::seconds patience_with_peer(300);

beast::http::request<beast::http::empty_body> handshake_of(const http_request& request)
{
    beast::http::request<beast::http::empty_body> handshake(beast::http::verb::get, request.path, 11);
    for (const auto& [name, value] : request.fields) handshake.insert(name, value);
    return handshake;
}

// The end of a stream: ours is told, the peer's is waited for, because a reset could overtake the last message.
struct teardown_steps {
    template <class Self>
    void operator()(Self& self, boost::system::error_code error = {})
    {
        if (std::exchange(step, step + 1) == 0) return asio::post(stream->get_executor(), std::move(self));
        if (step == 2) stream->end_output();
        std::array<char, 1024> rest;
        for (int i = 0; i < 16 && !error; ++i) stream->read_some(asio::buffer(rest), error);
        if (!error || error == asio::error::would_block) return stream->async_wait_on(std::move(self));
        stream->close();
        self.complete(error == asio::error::eof ? boost::system::error_code() : error);
    }

    client_stream* stream;
    int step = 0;
};

}  // namespace

// Beast finds these three by the type of the stream.
template <class Handler>
void async_teardown(beast::role_type, client_stream& stream, Handler&& handler)
{
    asio::async_compose<Handler, void(boost::system::error_code)>(teardown_steps{&stream}, handler, stream.socket());
}

void teardown(beast::role_type, client_stream& stream, boost::system::error_code& error)
{
    error = {};
    stream.end_output();
    stream.close();
}

void beast_close_socket(client_stream& stream) { stream.close(); }

struct websocket::connection final : login_holds::hold {
    connection(exchange& x, std::size_t most) : stream(x.take_over(*this)), longest_message(most)
    {
        stream.control_callback([this](beast::websocket::frame_type kind, beast::string_view payload) {
            if (kind == beast::websocket::frame_type::pong)
                std::from_chars(payload.data(), payload.data() + payload.size(), answered);
        });
    }
    void login_ended() override { stream.next_layer().close(); }

    beast::websocket::stream<client_stream> stream;
    std::size_t longest_message;
    std::uint32_t answered = 0;
};

void websocket_register::abort_all()
{
    const std::set<websocket*> all = open_;
    for (auto* each : all) each->abort();
}

std::optional<http_reply> websocket::refuse(const http_request& request)
{
    const bool upgrades = request.version == 11 && lists_token(request.header("connection").value_or(""), "upgrade") &&
                          lists_token(request.header("upgrade").value_or(""), "websocket");
    if (upgrades && beast::websocket::is_upgrade(handshake_of(request)) &&
        request.header("sec-websocket-version").value_or("") == "13")
        return std::nullopt;
    auto reply =
        error_reply(426, "This is a WebSocket (RFC 6455, version 13): open it with a client of that protocol.");
    reply.with("Upgrade", "websocket");
    reply.with("Sec-WebSocket-Version", "13");
    return reply;
}

bool websocket::offers(const http_request& request, std::string_view protocol)
{
    return lists_token(request.header("sec-websocket-protocol").value_or(""), protocol);
}

awaitable<std::unique_ptr<websocket>> websocket::accept(exchange& x, websocket_register& all)
{
    return accept(x, all, terms());
}

awaitable<std::unique_ptr<websocket>> websocket::accept(exchange& x, websocket_register& all, terms of)
{
    const auto handshake = handshake_of(x.request());
    auto taken = std::make_unique<connection>(x, of.longest_message);
    auto& stream = taken->stream;
    stream.set_option(beast::websocket::stream_base::timeout{patience_with_handshake, patience_with_peer, true});
    stream.set_option(
        beast::websocket::stream_base::decorator([id = x.request().id, of](beast::websocket::response_type& answer) {
            answer.set("X-Request-Id", id);
            if (!of.protocol.empty()) answer.set("Sec-WebSocket-Protocol", of.protocol);
        }));
    stream.read_message_max(of.longest_message);
    stream.auto_fragment(false);
    auto [failure] = co_await stream.async_accept(handshake, as_tuple);
    if (failure) co_return nullptr;
    co_return std::unique_ptr<websocket>(new websocket(std::move(taken), all));
}

awaitable<> websocket::turn_away(exchange& x, websocket_register& all, http_reply refusal, std::string_view protocol)
{
    if (refuse(x.request()) || !offers(x.request(), protocol)) {
        co_await x.reply(std::move(refusal));
        co_return;
    }
    const terms of{.protocol = protocol};
    const auto socket = co_await accept(x, all, of);
    if (!socket) co_return;
    const std::string message = jsonrpc::write_json(json::object{{"error", refusal.problem}});
    const bool heard = co_await socket->write(message, true);
    constexpr std::uint16_t not_possible = 1011;
    constexpr std::string_view no_reason;
    if (heard) co_await socket->close(not_possible, no_reason);
}

websocket::websocket(std::unique_ptr<connection> taken, websocket_register& all)
    : connection_(std::move(taken)), all_(all)
{
    all_.open_.insert(this);
}

websocket::~websocket() { all_.open_.erase(this); }

awaitable<std::optional<websocket::message>> websocket::read()
{
    beast::flat_buffer buffer(connection_->longest_message);
    auto [failure, length] = co_await connection_->stream.async_read(buffer, as_tuple);
    if (failure) co_return std::nullopt;
    const auto data = buffer.cdata();
    message heard{std::string(static_cast<const char*>(data.data()), data.size()), connection_->stream.got_text()};
    co_return heard;
}

awaitable<bool> websocket::write(std::string_view bytes, bool as_text)
{
    connection_->stream.text(as_text);
    auto [failure, length] = co_await connection_->stream.async_write(asio::buffer(bytes), as_tuple);
    co_return !failure;
}

awaitable<bool> websocket::ping(std::uint32_t number)
{
    const auto digits = std::to_string(number);
    const beast::websocket::ping_data payload(digits.data(), digits.size());
    auto [failure] = co_await connection_->stream.async_ping(payload, as_tuple);
    co_return !failure;
}

std::uint32_t websocket::answered() const { return connection_->answered; }

awaitable<> websocket::close(std::uint16_t code, std::string_view reason)
{
    const auto number = static_cast<beast::websocket::close_code>(code);
    const beast::websocket::close_reason why(number, reason.substr(0, longest_reason));
    co_await connection_->stream.async_close(why, as_tuple);
}

void websocket::abort() { connection_->stream.next_layer().close(); }

}  // namespace cmcp
