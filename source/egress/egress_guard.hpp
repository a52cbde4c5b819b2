#pragma once

#include "async/asio.hpp"
#include "egress/egress_ticket.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace cmcp {

/// The forward proxy (RFC 9110 section 7.6, RFC 9112: absolute-form requests and CONNECT) on a loopback port of the
/// system's choice: the only way out for the browser, for installations and for sandboxes with network. It judges each
/// name, resolves it itself, judges each address, connects to the address it judged, counts, and writes an audit line a
/// decision. Only the holder of a ticket may use it: Proxy-Authorization Basic with the ticket's random user and
/// password. A refusal is an answer 403 (policy), 502 (does not resolve or connect), 504 (time), 503 (too many
/// connections), 407 (no ticket), with a text/plain sentence and the header `X-Egress-Rule`; it is kept in the ticket,
/// too. Io thread only.
class egress_guard {
public:
    /// `policy` is for tickets without one of their own.
    egress_guard(asio::any_io_executor executor, std::shared_ptr<const egress_policy> policy);
    egress_guard(const egress_guard&) = delete;
    egress_guard& operator=(const egress_guard&) = delete;
    ~egress_guard();  ///< as stop()

    void start();                ///< listens on 127.0.0.1, once; throws boost::system::system_error
    std::uint16_t port() const;  ///< 0 before start()
    void stop();                 ///< closes the port and every connection

    /// A ticket under the guard's policy. `label` names the use in audit lines.
    std::shared_ptr<egress_ticket> issue(std::string label, egress_limits limits = {});

    /// A ticket under a policy of its own.
    std::shared_ptr<egress_ticket> issue(std::string label, std::shared_ptr<const egress_policy> policy,
                                         egress_limits limits = {});

    /// Serves a client without credentials, which came in at a place that only the holder of `ticket` can reach.
    void serve(asio::ip::tcp::socket client, const std::shared_ptr<egress_ticket>& ticket);

    class proxy;

private:
    std::shared_ptr<proxy> proxy_;
};

}  // namespace cmcp
