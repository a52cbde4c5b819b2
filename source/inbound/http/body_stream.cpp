#include "http/body_stream.hpp"

namespace cmcp {

namespace {

constexpr std::size_t read_size = 256 * 1024;
constexpr std::size_t longest_chunk_header = 64 * 1024;

}  // namespace

body_stream::body_stream(client_socket& peer, request_parser parser, std::chrono::milliseconds patience,
                         peer_state state)
    : peer_(peer),
      parser_(std::move(parser)),
      patience_(patience),
      done_(state == peer_state::done),
      waits_(state == peer_state::waits)
{
}

std::optional<std::uint64_t> body_stream::announced() const
{
    const auto size = parser_.announced();
    return size == 0 ? std::nullopt : std::optional(size);
}

awaitable<> body_stream::begin()
{
    begun_ = !done_;
    if (!waits_) co_return;
    waits_ = false;
    const bool sent = co_await peer_.write("HTTP/1.1 100 Continue\r\n\r\n");
    cut_ = !sent;
}

awaitable<std::optional<std::string>> body_stream::next()
{
    if (!begun_) co_await begin();
    while (!done_ && !cut_) {
        std::size_t used = 0;
        auto progress =
            peer_.buffer().size() == 0 ? request_parser::state::more : parser_.put_body(peer_.buffered(), used);
        peer_.buffer().consume(used);
        done_ = progress == request_parser::state::done;
        cut_ = !done_ && (progress != request_parser::state::more || peer_.buffer().size() > longest_chunk_header);
        auto piece = parser_.take_body();
        if (!piece.empty()) co_return piece;
        if (done_ || cut_) break;
        peer_.set_deadline(patience_);
        const bool more = co_await peer_.read_some(read_size);
        peer_.clear_deadline();
        cut_ = !more;
    }
    co_return std::nullopt;
}

}  // namespace cmcp
