#pragma once

#include "async/asio.hpp"
#include "async/task_group.hpp"
#include "egress/egress_ticket.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

class proxy_connection;

/// The part of the guard that its connections share: the port, the tickets that are valid, and what is open under each.
class egress_proxy : public std::enable_shared_from_this<egress_proxy> {
public:
    egress_proxy(asio::any_io_executor executor, std::shared_ptr<const egress_policy> rules);

    void start();
    void stop();
    std::uint16_t port() const { return port_; }
    void serve(asio::ip::tcp::socket client, const egress_ticket& ticket);

    /// The ticket ends with the last copy of the pointer, which closes its connections. Without a policy: the guard's.
    std::shared_ptr<egress_ticket> issue(std::string label, std::shared_ptr<const egress_policy> policy,
                                         egress_limits limits);

    /// The ticket that a Proxy-Authorization value belongs to (RFC 7617); nothing when it belongs to none.
    std::shared_ptr<egress_ticket> find(std::string_view authorization) const;

    /// The connection is closed when the ticket ends.
    void add(const egress_ticket& ticket, const std::shared_ptr<proxy_connection>& connection);

private:
    struct entry {
        std::shared_ptr<egress_ticket> ticket;
        std::string authorization;
        std::vector<std::weak_ptr<proxy_connection>> open;
    };
    static awaitable<> accept(std::shared_ptr<egress_proxy> self);
    void end(const std::string& user);

    asio::ip::tcp::acceptor acceptor_;
    task_group tasks_;
    std::shared_ptr<const egress_policy> policy_;
    std::uint16_t port_ = 0;
    std::map<std::string, entry> entries_;  // by user
};

/// The forward proxy (RFC 9110 section 7.6, RFC 9112: absolute-form requests and CONNECT) on a loopback port of the
/// system's choice: the only way out for the browser. It judges each
/// name, resolves it itself, judges each address, connects to the address it judged, counts, and writes an audit line a
/// decision. Only the holder of a ticket may use it: Proxy-Authorization Basic with the ticket's random user and
/// password. A refusal is an answer 403 (policy), 502 (does not resolve or connect), 504 (time), 503 (too many
/// connections), 407 (no ticket), with a text/plain sentence and the header `X-Egress-Rule`; it is kept in the ticket,
/// too. Io thread only.
class egress_guard {
public:
    /// `policy` is for tickets without one of their own.
    egress_guard(asio::any_io_executor executor, std::shared_ptr<const egress_policy> policy)
        : proxy_(std::make_shared<egress_proxy>(executor, std::move(policy)))
    {
    }
    egress_guard(const egress_guard&) = delete;
    egress_guard& operator=(const egress_guard&) = delete;
    // NOLINTNEXTLINE(bugprone-exception-escape): a server without memory for this ends
    ~egress_guard() { stop(); }

    void start() { proxy_->start(); }  ///< listens on 127.0.0.1, once; throws boost::system::system_error
    std::uint16_t port() const { return proxy_->port(); }  ///< 0 before start()
    void stop() { proxy_->stop(); }                        ///< closes the port and every connection

    /// A ticket under the guard's policy. `label` names the use in audit lines.
    std::shared_ptr<egress_ticket> issue(std::string label, egress_limits limits = {})
    {
        return proxy_->issue(std::move(label), nullptr, limits);
    }

    /// A ticket under a policy of its own.
    std::shared_ptr<egress_ticket> issue(std::string label, std::shared_ptr<const egress_policy> policy,
                                         egress_limits limits = {})
    {
        return proxy_->issue(std::move(label), std::move(policy), limits);
    }

    /// Serves a client without credentials, which came in at a place that only the holder of `ticket` can reach.
    void serve(asio::ip::tcp::socket client, const std::shared_ptr<egress_ticket>& ticket)
    {
        proxy_->serve(std::move(client), *ticket);
    }

private:
    std::shared_ptr<egress_proxy> proxy_;
};

}  // namespace cmcp
