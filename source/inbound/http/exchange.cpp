#include "http/exchange.hpp"

#include "http/request_guard.hpp"
#include "http/route.hpp"
#include "text/ascii.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace cmcp {

namespace {

constexpr std::string_view hsts = "max-age=31536000";

// Browsers would apply the promise to every port of the name, and other servers of this machine are without TLS.
bool is_of_this_machine(const http_request& request)
{
    const auto host = lower_case(request.header("host").value_or(""));
    const auto name = std::string_view(host).substr(0, host.starts_with('[') ? host.find(']') + 1 : host.find(':'));
    return name.empty() || name == "localhost" || name.ends_with(".localhost") || name.starts_with("127.") ||
           name == "[::1]";
}

std::string chunk_head(std::size_t bytes)
{
    std::array<char, 24> size{};
    auto length = std::snprintf(size.data(), size.size(), "%zx\r\n", bytes);
    return std::string(size.data(), static_cast<std::size_t>(length));
}

}  // namespace

// An empty chunk would end the stream.
awaitable<bool> stream_body::write(std::string_view data)
{
    auto head = chunked_ ? chunk_head(data.size()) : std::string();
    client_socket::parts_to_write parts{asio::buffer(head), asio::buffer(data), asio::buffer("\r\n", chunked_ ? 2 : 0)};
    auto sent = peer_->write_now(parts);
    if (sent && asio::buffer_size(parts) != 0) sent = co_await peer_->write_rest(parts);
    co_return sent;
}

awaitable<bool> stream_body::end() { return peer_->write(chunked_ ? "0\r\n\r\n" : ""); }

// A single text with all that each answer carries. An empty `framing` is left out.
std::string exchange::head(int status, const fields& extra, std::string_view type, std::string_view framing,
                           std::string_view value)
{
    status_ = status;
    auto text = reply_head(status, extra, type);
    if (!framing.empty()) append_field(text, framing, value);
    append_field(text, "X-Request-Id", request_.id);
    append_of_server(text);
    if (close_) text.append("Connection: close\r\n");
    text.append("\r\n");
    return text;
}

// Browsers are told by this server, whoever has made the answer.
void exchange::append_of_server(std::string& head) const
{
    guard_.names().share_with_origin(request_, head);
    if (peer_.is_secure() && !is_of_this_machine(request_)) append_field(head, "Strict-Transport-Security", hsts);
}

awaitable<> exchange::reply(http_reply answer)
{
    if (!answer.problem.empty()) {
        if (request_.target != nullptr && request_.target->jupyter)
            answer.body = jupyter_refusal_body(answer.problem);
        else if (request_.target != nullptr && request_.target->e2b)
            answer.body = e2b_refusal_body(answer.status, answer.problem);
        else
            answer.body = refusal_body(answer, request_.rpc_errors, request_.id);
    }
    close_ = close_ || answer.close;
    // RFC 9110 section 8.6: no Content-Length with 204.
    const std::string_view framing = answer.status == 204 ? "" : "Content-Length";
    auto type = answer.body.empty() ? std::string_view() : answer.type();
    const auto top = head(answer.status, answer.fields, type, framing, std::to_string(answer.body.size()));
    auto body = request_.method == "HEAD" ? std::string_view() : std::string_view(answer.body);
    client_socket::parts_to_write parts{asio::buffer(top), asio::buffer(body)};
    if (peer_.write_now(parts) && asio::buffer_size(parts) != 0) co_await peer_.write_rest(parts);
}

awaitable<bool> exchange::begin_stream(std::string_view content_type, fields extra, std::string first)
{
    streamed_ = true;
    close_ = close_ || !chunked();
    auto top = head(200, extra, content_type, chunked() ? "Transfer-Encoding" : "", "chunked");
    if (chunked() && !first.empty()) top += chunk_head(first.size());
    const std::string_view end = chunked() && !first.empty() ? "\r\n" : "";
    auto sent = co_await peer_.write(top, first, end);
    co_return sent;
}

bool exchange::has_own_token() const { return guard_.brings_own(request_); }

void exchange::go_on_with(awaitable<bool> rest)
{
    rest_ = std::move(rest);
    peer_.release_buffer();
}

client_stream exchange::take_over(login_holds::hold& login)
{
    login_.move_to(login);
    status_ = 101;
    streamed_ = close_ = true;
    return peer_.release();
}

awaitable<bool> exchange::begin_sized(int status, std::string_view content_type, fields extra, std::uint64_t length)
{
    owed_ = request_.method == "HEAD" ? 0 : length;
    const auto top = head(status, extra, content_type, "Content-Length", std::to_string(length));
    auto sent = co_await peer_.write(top);
    co_return sent;
}

awaitable<bool> exchange::begin_relayed(int status, std::string head, std::optional<std::uint64_t> length,
                                        bool has_body)
{
    status_ = status;
    streamed_ = status == 101 || (has_body && !length);
    close_ = close_ || (streamed_ && !chunked());
    owed_ = has_body ? length.value_or(0) : 0;
    const bool is_empty = !has_body && !length && status != 204 && status != 304 && request_.method != "HEAD";
    const bool of_own_route = request_.target == nullptr || !request_.target->relays;
    if (of_own_route && status != 101) append_of_server(head);
    if (streamed_ && status != 101 && chunked()) append_field(head, "Transfer-Encoding", "chunked");
    if (status >= 200 && status != 204 && (length || is_empty))
        append_field(head, "Content-Length", std::to_string(length.value_or(0)));
    if (status >= 200 && close_) append_field(head, "Connection", "close");
    head += "\r\n";
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

}  // namespace cmcp
