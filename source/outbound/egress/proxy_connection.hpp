#pragma once

#include "async/asio.hpp"
#include "async/event.hpp"
#include "egress/client_opening.hpp"
#include "egress/egress_relay.hpp"
#include "egress/tls_hellos.hpp"
#include "egress/web_url.hpp"

#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp {

/// The host and port that a connection is for.
struct egress_target {
    host who;
    std::uint16_t port = 0;
};

/// A client of the proxy: requests in absolute form one after another, or one CONNECT (RFC 9110 section 9.3.6). With a
/// target, a client that believes to be connected to it: its first bytes are judged before one of them leaves.
/// The same goes for what comes through a CONNECT of a ticket that is held to names.
class proxy_connection : public egress_relay {
public:
    proxy_connection(stream_socket client, std::shared_ptr<egress_ticket> ticket,
                     std::optional<egress_target> target = std::nullopt);

    static awaitable<> run(std::shared_ptr<proxy_connection> self);

private:
    friend class secret_exchange;
    using request_parser = boost::beast::http::request_parser<boost::beast::http::buffer_body>;
    using response_parser = boost::beast::http::response_parser<boost::beast::http::buffer_body>;

    enum class dialect { http, tls, other };

    awaitable<> serve_requests();
    awaitable<bool> serve_one();  ///< false: the connection ends
    awaitable<> tunnel(std::string authority);
    awaitable<bool> forward(request_parser& request);
    awaitable<bool> reach(host who, std::uint16_t port);  ///< fills upstream_ or answers with the reason
    awaitable<bool> send_request(request_parser& request);
    awaitable<bool> send_response(bool was_head, bool client_stays, bool upgrades);
    awaitable<> answer(unsigned status, std::string rule, std::string sentence);
    awaitable<> refuse(std::string rule, std::string sentence);  ///< answers, and notes it in ticket and audit
    void note_refusal(const std::string& rule, const std::string& sentence);
    void note_refusal(const host& who, std::uint16_t port, const std::string& rule, const std::string& sentence);
    static unsigned status_of(egress_error::kind is);
    bool takes_upgrade(const request_parser& request) const;

    // Of a connection for a target:
    awaitable<> serve_target();
    awaitable<> serve_silent_client();
    awaitable<> serve_opening();
    awaitable<> refuse_in_its_words(std::string rule, std::string sentence);
    awaitable<bool> speaks_within(std::chrono::milliseconds limit);
    awaitable<bool> server_speaks_first();
    awaitable<client_opening> read_opening();
    static awaitable<> copy_when_judged(std::shared_ptr<proxy_connection> self);
    awaitable<> relay_tls();
    static awaitable<> copy_hellos(std::shared_ptr<proxy_connection> self);
    static awaitable<> copy_answer(std::shared_ptr<proxy_connection> self);
    awaitable<bool> read_more();      ///< of the client; false: its end
    std::string_view unsent() const;  ///< what the client has sent and was not passed on
    awaitable<bool> reach_target();

    // Of a target that a secret of the ticket is for:
    bool has_secrets() const;
    std::string plain_problem(const host& who, std::uint16_t port) const;  ///< empty: HTTP without TLS may go there
    awaitable<> serve_with_secrets(client_opening::kind is);

    static dialect dialect_of(client_opening::kind is);
    std::string opening_problem(const client_opening& opening) const;  ///< empty: it is passed on

    std::optional<egress_target> target_;
    dialect speaks_ = dialect::http;  ///< in which a refusal is sent
    tls_hellos hellos_;
    event answered_;  ///< the server's part of a TLS handshake goes on, or ends
    bool answer_ends_ = false;
    bool fresh_ = false;  ///< nothing was sent to upstream_ yet
};

}  // namespace cmcp
