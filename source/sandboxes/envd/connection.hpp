#pragma once

#include "envd/envd.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp::envd {

/// A connection of HTTP/1.1 and the request that it brings now.
class connection : public std::enable_shared_from_this<connection> {
public:
    using fields = std::vector<std::pair<std::string, std::string>>;
    explicit connection(asio::ip::tcp::socket socket) : socket_(std::move(socket)) {}

    awaitable<bool> next();  ///< reads a header; false: the peer has gone
    std::string_view method() const { return method_; }
    std::string_view path() const { return path_; }
    std::string parameter(std::string_view name) const;  ///< decoded; empty: there is none
    std::string header(std::string_view name) const;
    const boost::beast::http::fields& headers() const { return parser_->get().base(); }
    account user() const;  ///< whom the request names

    /// The next bytes of the body; empty: its end.
    awaitable<std::string> read_some();
    awaitable<std::string> read_all();  ///< throws refusal above 16 MiB

    awaitable<> reply(unsigned status, std::string body, fields extra = {});  ///< JSON unless `extra` says otherwise
    awaitable<> refuse(refusal why, bool connect);                            ///< in Connect's form, or that of /files
    awaitable<> begin(unsigned status, fields extra);                         ///< of a body in chunks
    awaitable<> write(std::string chunk);
    awaitable<> end();
    bool begun() const { return begun_; }
    bool answered() const { return answered_; }
    asio::any_io_executor executor() { return socket_.get_executor(); }

    /// Calls once the peer has gone; the request must have been read whole, and nothing else reads meanwhile.
    void watch(std::function<void()> gone);
    awaitable<> unwatch();

private:
    awaitable<> send(std::string bytes);

    asio::ip::tcp::socket socket_;
    boost::beast::flat_buffer buffer_{64 * 1024};
    std::optional<boost::beast::http::request_parser<boost::beast::http::buffer_body>> parser_;
    std::string method_, path_, query_;
    bool begun_ = false;
    bool answered_ = false;
};

std::string percent_decoded(std::string_view text, bool plus_is_blank);

/// Standard and URL-safe alphabets, with padding or without. Throws refusal.
std::string base64_bytes(std::string_view text);
std::string base64_text(std::string_view bytes);

}  // namespace cmcp::envd
