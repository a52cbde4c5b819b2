#include "http/exchange.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace cmcp {

exchange::exchange(client_socket& peer, http_request& asked, fields shared)
    : peer_(peer), request_(asked), shared_(std::move(shared)), close_(!asked.keep_alive)
{
}

awaitable<bool> exchange::reply(http_reply answer)
{
    status_ = answer.status;
    close_ = close_ || answer.close;
    answer.fields.insert(answer.fields.end(), shared_.begin(), shared_.end());
    // RFC 9110 section 8.6: no Content-Length with 204.
    auto length = answer.status == 204 ? std::string() : "Content-Length: " + std::to_string(answer.body.size()) + "\r\n";
    auto type = answer.body.empty() ? std::string_view() : answer.type();
    auto head = reply_head(answer.status, answer.fields, type, length, !close_);
    auto body = request_.method == "HEAD" ? std::string_view() : std::string_view(answer.body);
    auto sent = co_await peer_.write(head, body);
    co_return sent;
}

awaitable<bool> exchange::begin_stream(std::string_view content_type, fields extra, std::string first)
{
    status_ = 200;
    streaming_ = streamed_ = true;
    close_ = close_ || !chunked();
    extra.insert(extra.end(), shared_.begin(), shared_.end());
    shared_.clear();
    shared_.shrink_to_fit();
    auto framing = chunked() ? std::string_view("Transfer-Encoding: chunked\r\n") : std::string_view();
    auto head = reply_head(200, extra, content_type, framing, !close_);
    head += chunk_head(first);
    auto sent = co_await peer_.write(head, first, chunk_end(first));
    co_return sent;
}

awaitable<bool> exchange::write_chunk(std::string_view data)
{
    auto head = chunk_head(data);
    auto sent = co_await peer_.write(head, data, chunk_end(data));
    co_return sent;
}

awaitable<bool> exchange::end_stream()
{
    streaming_ = false;
    if (!chunked()) co_return true;
    auto sent = co_await peer_.write("0\r\n\r\n");
    co_return sent;
}

awaitable<bool> exchange::begin_sized(int status, std::string_view content_type, fields extra, std::uint64_t length)
{
    status_ = status;
    owed_ = request_.method == "HEAD" ? 0 : length;
    extra.insert(extra.end(), shared_.begin(), shared_.end());
    const auto framing = "Content-Length: " + std::to_string(length) + "\r\n";
    const auto head = reply_head(status, extra, content_type, framing, !close_);
    auto sent = co_await peer_.write(head);
    co_return sent;
}

awaitable<bool> exchange::write_body(std::string_view data)
{
    const auto piece = data.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(owed_, data.size())));
    auto sent = co_await peer_.write(piece);
    owed_ -= sent ? piece.size() : 0;
    co_return sent;
}

// An empty chunk would end the stream.
std::string exchange::chunk_head(std::string_view data) const
{
    if (!chunked() || data.empty()) return {};
    std::array<char, 24> size{};
    auto length = std::snprintf(size.data(), size.size(), "%zx\r\n", data.size());
    return std::string(size.data(), static_cast<std::size_t>(length));
}

std::string_view exchange::chunk_end(std::string_view data) const
{
    return !chunked() || data.empty() ? std::string_view() : "\r\n";
}

void exchange::settle_as_stream()
{
    // Assigning an empty one would keep the memory.
    request_.fields.clear();
    request_.fields.shrink_to_fit();
    for (auto* text : {&request_.query, &request_.body}) {
        text->clear();
        text->shrink_to_fit();
    }
    peer_.release_buffer();
}

awaitable<> refuse(exchange& x, http_reply refusal)
{
    co_await x.reply(std::move(refusal));
}

}  // namespace cmcp
