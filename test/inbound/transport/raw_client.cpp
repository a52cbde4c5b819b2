#include "test/inbound/transport/raw_client.hpp"

#include "http/http_request.hpp"
#include "text/ascii.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <stdexcept>

namespace cmcp::test {

namespace {

constexpr int patience_ms = 15'000;

}  // namespace

std::string raw_response::field(const std::string& name) const
{
    auto entry = fields.find(name);
    return entry == fields.end() ? std::string() : entry->second;
}

raw_client::raw_client(std::uint16_t port, int receive_buffer) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
{
    if (receive_buffer != 0) ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_.get(), reinterpret_cast<sockaddr*>(&where), sizeof where) != 0)
        throw std::runtime_error("connect failed");
}

void raw_client::send(std::string_view bytes)
{
    while (!bytes.empty()) {
        auto sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

bool raw_client::fill()
{
    pollfd ready{fd_.get(), POLLIN, 0};
    if (::poll(&ready, 1, patience_ms) <= 0) throw std::runtime_error("nothing came in time");
    std::array<char, 16384> bytes{};
    auto size = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
    if (size <= 0) return false;
    buffer_.append(bytes.data(), static_cast<std::size_t>(size));
    return true;
}

std::string raw_client::line()
{
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n")) == std::string::npos)
        if (!fill()) return {};
    auto text = buffer_.substr(0, end);
    buffer_.erase(0, end + 2);
    return text;
}

std::string raw_client::take(std::size_t size)
{
    while (buffer_.size() < size && fill()) {
    }
    auto text = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return text;
}

raw_response raw_client::read_head()
{
    raw_response response;
    auto status = line();
    if (status.size() < 12) return response;
    response.status = std::stoi(status.substr(9, 3));
    for (auto text = line(); !text.empty(); text = line()) {
        auto colon = text.find(':');
        response.fields[lower_case(text.substr(0, colon))] = text.substr(std::min(colon + 2, text.size()));
    }
    chunked_ = response.field("transfer-encoding") == "chunked";
    stream_.clear();
    stream_over_ = false;
    return response;
}

raw_response raw_client::read()
{
    auto response = read_head();
    if (!chunked_) {
        auto length = response.field("content-length");
        response.body = take(length.empty() ? 0 : std::stoul(length));
        return response;
    }
    for (;;) {
        auto size = std::stoul(line(), nullptr, 16);
        response.body += take(size);
        line();
        if (size == 0) return response;
    }
}

bool raw_client::next_stream_line(std::string& into)
{
    std::size_t end = 0;
    while ((end = stream_.find('\n')) == std::string::npos) {
        if (stream_over_) return false;
        auto header = line();
        if (header.empty()) throw std::runtime_error("the stream was cut off");
        auto size = std::stoul(header, nullptr, 16);
        stream_ += take(size);
        line();
        stream_over_ = size == 0;
    }
    into = stream_.substr(0, end);
    stream_.erase(0, end + 1);
    return true;
}

raw_event raw_client::read_event()
{
    raw_event event;
    bool any = false;
    for (std::string text; next_stream_line(text);) {
        if (text.empty() && any) return event;
        if (text.empty() || text.front() == ':') continue;
        any = true;
        auto colon = text.find(": ");
        auto name = text.substr(0, colon);
        auto value = text.substr(colon + 2);
        if (name == "id") event.id = value;
        if (name == "event") event.name = value;
        if (name == "data") event.data += value;
        if (name == "retry") event.retry = value;
    }
    event.ended = true;
    return event;
}

std::string raw_client::read_comment()
{
    for (std::string text; next_stream_line(text);)
        if (!text.empty() && text.front() == ':') return text;
    return {};
}

bool raw_client::closed()
{
    if (!buffer_.empty()) return false;
    return !fill();
}

std::string post(std::string_view path, std::string_view body, std::string_view extra)
{
    std::string text =
        "POST " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    if (extra.find("Accept:") == std::string_view::npos) text += "Accept: application/json, text/event-stream\r\n";
    text.append(extra).append("Content-Length: ").append(std::to_string(body.size())).append("\r\n\r\n").append(body);
    return text;
}

std::string get(std::string_view path, std::string_view extra)
{
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n" +
           std::string(extra) + "\r\n";
}

}  // namespace cmcp::test
