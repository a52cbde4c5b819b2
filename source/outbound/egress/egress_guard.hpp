#pragma once

#include "async/asio.hpp"
#include "async/task_group.hpp"
#include "egress/egress_ticket.hpp"
#include "egress/name_addresses.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cmcp {

class proxy_connection;
struct egress_target;

/// The forward proxy (RFC 9110 section 7.6, RFC 9112: absolute-form requests and CONNECT): the only way out for the
/// browser and for what fetches images. It judges each name, resolves it itself, judges each address, connects to the
/// address it judged, counts, and writes an audit line a decision. It listens nowhere by itself. A client comes in at a
/// door, a listening socket in a network that only the holder of a ticket can reach. A refusal is an answer 403
/// (policy), 502 (does not resolve or connect), 504 (time), 503 (too many connections), with a text/plain sentence and
/// the header `X-Egress-Rule`; it is stored in the ticket, too. Io thread only.
class egress_guard {
public:
    /// `policy` is for tickets without one of their own.
    egress_guard(asio::any_io_executor executor, std::shared_ptr<const egress_policy> policy);
    egress_guard(const egress_guard&) = delete;
    egress_guard& operator=(const egress_guard&) = delete;
    // NOLINTNEXTLINE(bugprone-exception-escape): a server without memory for this ends
    ~egress_guard() { stop(); }

    const asio::any_io_executor& executor() const { return executor_; }
    void stop();  ///< closes every connection

    /// A ticket under the guard's policy. `label` names the use in audit lines. The ticket ends with the last copy of
    /// the pointer, which closes its connections.
    std::shared_ptr<egress_ticket> issue(std::string label, egress_limits limits = {})
    {
        return issue(std::move(label), policy_, limits);
    }

    /// A ticket under a policy of its own.
    std::shared_ptr<egress_ticket> issue(std::string label, std::shared_ptr<const egress_policy> policy,
                                         egress_limits limits = {});

    /// Serves a client that came in at a door of the ticket's holder.
    void serve(asio::ip::tcp::socket client, const egress_ticket& ticket);

    /// The ticket for the clients of a door at this moment; null: they are dropped.
    using holder = std::function<std::shared_ptr<egress_ticket>()>;

    /// Serves whoever comes in at the door, until it is cancelled. The guard must outlive it.
    awaitable<> serve_door(asio::ip::tcp::acceptor door, holder of);

    /// The same for clients that believe to be connected to a name: the address at which one came in stands for the
    /// name, the port is the door's. What it says first must be for that name: a TLS handshake names it as its server,
    /// each request of HTTP/1 as its host. Other protocols, and servers that speak first, need a policy that names the
    /// port. A refusal is a TLS alert, an answer 403 as above, or the end of the connection.
    awaitable<> serve_named_door(asio::ip::tcp::acceptor door, std::shared_ptr<name_addresses> names, holder of);

    /// Answers DNS queries for the names that the ticket's policy allows, until it is cancelled. Nobody is asked for
    /// them: a name is resolved when a client connects to it.
    awaitable<> serve_names(asio::ip::udp::socket socket, std::shared_ptr<name_addresses> names, holder of);

private:
    struct entry {
        std::shared_ptr<egress_ticket> ticket;
        std::vector<std::weak_ptr<proxy_connection>> open;
    };
    using entries = std::map<const egress_ticket*, entry>;
    static void end(entries& of, const egress_ticket* ticket);
    void serve(asio::ip::tcp::socket client, const egress_ticket& ticket, std::optional<egress_target> target);

    asio::any_io_executor executor_;
    std::shared_ptr<task_group> tasks_;
    std::shared_ptr<const egress_policy> policy_;
    std::shared_ptr<entries> entries_ = std::make_shared<entries>();  ///< of tickets that have not ended
};

}  // namespace cmcp
