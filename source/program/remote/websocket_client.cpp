#include "remote/websocket_client.hpp"

#include <array>
#include <stdexcept>
#include <utility>

namespace cmcp::command {

namespace {

using kind = websocket_frames::kind;

constexpr std::uint16_t normal_end = 1000;

}  // namespace

struct websocket_client::state {
    std::unique_ptr<http_connection> connection;
    websocket_frames frames{};
    std::deque<std::string> outgoing{};
    bool writes = false;
};

websocket_client::websocket_client(std::unique_ptr<http_connection> connection)
    : state_(std::make_shared<state>(state{std::move(connection)})),
      tasks_(state_->connection->stream().socket().get_executor())
{
    auto& early = state_->connection->buffer();
    const auto bytes = early.cdata();
    state_->frames.feed({static_cast<const char*>(bytes.data()), bytes.size()});
    early.consume(early.size());
}

websocket_client::~websocket_client() { abort(); }

void websocket_client::abort() { state_->connection->stream().close(); }

void websocket_client::put(std::string frame)
{
    state_->outgoing.push_back(std::move(frame));
    if (!std::exchange(state_->writes, true)) tasks_.spawn("messages to the server", write_all(state_));
}

awaitable<> websocket_client::write_all(std::shared_ptr<state> of)
{
    while (!of->outgoing.empty()) {
        const std::string frame = std::move(of->outgoing.front());
        of->outgoing.pop_front();
        const auto sent = co_await of->connection->stream().write(frame);
        if (sent.failure) co_return;  // the reader sees that the server is gone
    }
    of->writes = false;
}

awaitable<websocket_client::message> websocket_client::read()
{
    std::array<char, 64 * 1024> room;
    for (;;) {
        auto heard = state_->frames.next();
        if (heard && heard->is == kind::ping) put(websocket_frames::frame(kind::pong, heard->bytes));
        if (heard && heard->is == kind::close) put(websocket_frames::close_frame(normal_end));
        if (heard && heard->is != kind::ping && heard->is != kind::pong) co_return std::move(*heard);
        if (heard) continue;
        const auto got = co_await state_->connection->stream().read_some(asio::buffer(room));
        if (got.failure) throw std::runtime_error("the connection to the server has ended");
        state_->frames.feed({room.data(), got.size});
    }
}

void websocket_client::send(std::string_view bytes) { put(websocket_frames::frame(kind::binary, bytes)); }
void websocket_client::order(std::string_view text) { put(websocket_frames::frame(kind::text, text)); }

void websocket_client::close() { put(websocket_frames::close_frame(normal_end)); }

}  // namespace cmcp::command
