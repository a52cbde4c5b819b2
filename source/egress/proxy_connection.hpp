#pragma once

#include "async/asio.hpp"
#include "egress/client_opening.hpp"
#include "egress/egress_connector.hpp"
#include "egress/egress_place.hpp"
#include "egress/web_url.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp {

/// A client of the proxy: requests in absolute form one after another, or one CONNECT (RFC 9110 section 9.3.6). Or one
/// that came to an address that stands for a name: its opening must say that name, and each of its requests (HTTP/1)
/// must; other protocols pass at ports that the policy names for the host. So must the client of a CONNECT whose ticket
/// holds to names.
class proxy_connection : public std::enable_shared_from_this<proxy_connection> {
public:
    /// `stands_for`: nothing for a client of the proxy.
    proxy_connection(asio::ip::tcp::socket client, std::shared_ptr<egress_ticket> ticket,
                     std::optional<egress_place> stands_for = std::nullopt);
    proxy_connection(const proxy_connection&) = delete;
    proxy_connection& operator=(const proxy_connection&) = delete;

    static awaitable<> run(std::shared_ptr<proxy_connection> self);

    void close();  ///< both sides, at once

private:
    using request_parser = boost::beast::http::request_parser<boost::beast::http::buffer_body>;
    using response_parser = boost::beast::http::response_parser<boost::beast::http::buffer_body>;

    awaitable<bool> serve_one();  ///< false: the connection ends
    awaitable<> serve_named();    ///< of `named_`
    awaitable<client_opening> read_opening();
    awaitable<> wait_for_bytes();
    bool may_open(const client_opening& opening);
    awaitable<bool> tunnel(std::string authority);
    awaitable<> pass_both_ways();
    std::optional<web_url> target_of(const request_parser& request, std::string& problem) const;
    awaitable<bool> forward(request_parser& request);
    awaitable<bool> reach(host who, std::uint16_t port);  ///< fills upstream_ or answers with the reason
    awaitable<bool> send_request(request_parser& request);
    awaitable<bool> send_response(bool was_head, bool client_stays, bool upgrades);
    awaitable<bool> switch_protocol(response_parser& response);
    awaitable<> answer(unsigned status, std::string rule, std::string sentence);
    static awaitable<> copy(std::shared_ptr<proxy_connection> self, bool outward);

    bool moved(std::size_t bytes);  ///< false: the ticket has no more bytes
    void watch_idle();              ///< close() when nothing moves for the ticket's limit from now on
    void wait_until_idle();

    using clock = std::chrono::steady_clock;
    static constexpr std::uint32_t header_limit = 64 * 1024;

    asio::ip::tcp::socket client_;
    std::shared_ptr<egress_ticket> ticket_;
    std::optional<egress_place> named_;
    client_opening::kind speaks_ = client_opening::kind::http;
    boost::beast::flat_buffer from_client_;
    boost::beast::flat_buffer from_upstream_;
    std::optional<egress_socket> upstream_;
    std::string upstream_name_;
    std::uint16_t upstream_port_ = 0;
    std::vector<char> piece_;
    asio::steady_timer idle_;
    clock::time_point last_moved_;
};

}  // namespace cmcp
