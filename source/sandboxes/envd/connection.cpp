#include "envd/connection.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/detail/base64.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/status.hpp>

#include <algorithm>
#include <array>
#include <cstdio>

namespace cmcp::envd {

namespace http = boost::beast::http;

namespace {

constexpr std::size_t longest_message = 16 << 20;
constexpr std::size_t longest_piece = 64 * 1024;

constexpr std::string_view json_type = "application/json";

}  // namespace

std::string percent_decoded(std::string_view text, bool plus_is_blank)
{
    const auto digit = [](char c) {
        return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
    };
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool coded = text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
        if (coded) out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
        if (!coded) out += plus_is_blank && text[i] == '+' ? ' ' : text[i];
        i += coded ? 2 : 0;
    }
    return out;
}

std::string base64_bytes(std::string_view text)
{
    std::string plain(text);
    std::ranges::replace(plain, '-', '+');
    std::ranges::replace(plain, '_', '/');
    while (!plain.empty() && plain.back() == '=') plain.pop_back();
    std::string bytes(boost::beast::detail::base64::decoded_size(plain.size() + 3), '\0');
    const auto [written, read] = boost::beast::detail::base64::decode(bytes.data(), plain.data(), plain.size());
    if (read != plain.size()) throw refusal("invalid_argument", "bytes are written in base64");
    bytes.resize(written);
    return bytes;
}

std::string base64_text(std::string_view bytes)
{
    std::string out(boost::beast::detail::base64::encoded_size(bytes.size()), '\0');
    out.resize(boost::beast::detail::base64::encode(out.data(), bytes.data(), bytes.size()));
    return out;
}

awaitable<bool> connection::next()
{
    parser_.emplace();
    parser_->body_limit(boost::none);
    begun_ = answered_ = false;
    auto [failed, size] =
        co_await http::async_read_header(socket_, buffer_, *parser_, asio::as_tuple(asio::use_awaitable));
    if (failed) co_return false;
    const auto& request = parser_->get();
    method_ = std::string(request.method_string());
    const std::string target(request.target());
    const auto question = std::min(target.find('?'), target.size());
    path_ = target.substr(0, question);
    query_ = question == target.size() ? std::string() : target.substr(question + 1);
    co_return true;
}

std::string connection::parameter(std::string_view name) const
{
    std::string_view rest = query_;
    while (!rest.empty()) {
        const auto part = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(rest.size(), part.size() + 1));
        const auto equals = std::min(part.find('='), part.size());
        if (percent_decoded(part.substr(0, equals), true) == name)
            return equals == part.size() ? std::string() : percent_decoded(part.substr(equals + 1), true);
    }
    return {};
}

std::string connection::header(std::string_view name) const
{
    return std::string(headers()[{name.data(), name.size()}]);
}

account connection::user() const
{
    constexpr std::string_view basic = "Basic ";
    const auto field = header("Authorization");
    auto name = parameter("username");
    if (field.starts_with(basic)) name = base64_bytes(std::string_view(field).substr(basic.size()));
    return find_account(name.substr(0, name.find(':')));
}

awaitable<std::string> connection::read_some()
{
    std::string bytes;
    while (!parser_->is_done() && bytes.empty()) {
        bytes.resize(longest_piece);
        parser_->get().body().data = bytes.data();
        parser_->get().body().size = bytes.size();
        auto [failed, size] =
            co_await http::async_read_some(socket_, buffer_, *parser_, asio::as_tuple(asio::use_awaitable));
        if (failed && failed != http::error::need_buffer) throw boost::system::system_error(failed);
        bytes.resize(bytes.size() - parser_->get().body().size);
    }
    co_return bytes;
}

awaitable<std::string> connection::read_all()
{
    std::string whole;
    for (;;) {
        const auto bytes = co_await read_some();
        if (bytes.empty()) co_return whole;
        whole += bytes;
        if (whole.size() > longest_message) throw refusal("resource_exhausted", "a message has at most 16 MiB");
    }
}

awaitable<> connection::send(std::string bytes)
{
    const auto whole = asio::buffer(bytes);
    co_await asio::async_write(socket_, whole, asio::use_awaitable);
}

static std::string head_of(unsigned status, const connection::fields& extra, std::string_view usual_type)
{
    const auto reason = http::obsolete_reason(http::int_to_status(status));
    std::string head = "HTTP/1.1 " + std::to_string(status) + " " + std::string(reason) + "\r\n";
    bool typed = usual_type.empty();
    for (const auto& [name, value] : extra) {
        typed = typed || name == "Content-Type";
        head += name + ": " + value + "\r\n";
    }
    if (!typed) head += "Content-Type: " + std::string(usual_type) + "\r\n";
    return head;
}

awaitable<> connection::reply(unsigned status, std::string body, fields extra)
{
    // What was sent and is not wanted any more would be taken for the next request.
    while (!parser_->is_done()) co_await read_some();
    std::string bytes = head_of(status, extra, body.empty() ? std::string_view() : json_type);
    if (status != 204) bytes += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    answered_ = true;
    co_await send(bytes + "\r\n" + body);
}

awaitable<> connection::refuse(refusal why, bool connect)
{
    json::object error{{"message", why.what()}};
    const unsigned status = !connect && why.code == "resource_exhausted" ? 507 : why.status();
    if (connect) error["code"] = why.code;
    if (!connect) error["code"] = status;
    co_await reply(status, json::serialize(error));
}

awaitable<> connection::begin(unsigned status, fields extra)
{
    std::string head = head_of(status, extra, json_type);
    begun_ = answered_ = true;
    co_await send(head + "Transfer-Encoding: chunked\r\n\r\n");
}

awaitable<> connection::write(std::string chunk)
{
    if (chunk.empty()) co_return;
    std::array<char, 20> size{};
    std::snprintf(size.data(), size.size(), "%zx\r\n", chunk.size());
    co_await send(size.data() + chunk + "\r\n");
}

awaitable<> connection::end()
{
    begun_ = false;
    co_await send("0\r\n\r\n");
}

void connection::watch(std::function<void()> gone)
{
    socket_.async_wait(asio::ip::tcp::socket::wait_read,
                       [self = shared_from_this(), gone = std::move(gone)](const auto& stopped) {
                           char byte = 0;
                           boost::system::error_code failed;
                           if (stopped || self->socket_.receive(asio::buffer(&byte, 1), MSG_PEEK, failed) > 0) return;
                           gone();
                       });
}

awaitable<> connection::unwatch()
{
    socket_.cancel();
    co_await asio::post(socket_.get_executor(), asio::use_awaitable);
}

}  // namespace cmcp::envd
