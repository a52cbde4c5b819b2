#pragma once

#include "async/asio.hpp"
#include "egress/egress_ticket.hpp"
#include "streams/stream_socket.hpp"

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace cmcp {

/// A connection that the guard did not make. what() is a sentence for the caller that names host and reason.
struct egress_error : std::runtime_error {
    enum class kind { refused, unresolved, unreachable, timeout, busy, bytes };  ///< in the order of two tables

    egress_error(kind what_kind, std::string decided_by, const std::string& sentence)
        : std::runtime_error(sentence), is(what_kind), rule(std::move(decided_by))
    {
    }

    kind is;
    std::string rule;  ///< as in egress_refusal
};

/// A TCP connection that the guard made; it counts against its ticket while it is open.
class egress_socket {
public:
    /// `from` was entered for it.
    egress_socket(asio::any_io_executor executor, std::shared_ptr<egress_ticket> from)
        : socket(executor), ticket_(std::move(from))
    {
    }
    egress_socket(egress_socket&&) noexcept = default;
    egress_socket& operator=(egress_socket&&) = delete;
    ~egress_socket()
    {
        if (ticket_) ticket_->leave();
    }

    stream_socket socket;

private:
    std::shared_ptr<egress_ticket> ticket_;
};

/// The one place where connections to the outside are made: judges the name, resolves it, judges every address,
/// connects to one of those it judged, and writes an audit line for the decision. A name of which one address is
/// refused is refused whole. Failures are stored in the ticket and thrown as egress_error; `entered` hears each step
/// ("resolving", "connecting") and the words for it with their detail. A ticket that leads into a sandbox reaches the
/// ports of its loopback and nothing else.
awaitable<egress_socket> egress_connect(std::shared_ptr<egress_ticket> ticket, host who, std::uint16_t port,
                                        std::function<void(std::string, std::string)> entered = {});

/// Whether the host is localhost or an address of a loopback.
bool is_this_machine(const host& who);

/// The same judgement of a name without a connection; throws as above. Where the user may be asked, it waits for the
/// answer. For a connection that is used again.
awaitable<> egress_require(std::shared_ptr<egress_ticket> ticket, host who, std::uint16_t port);

/// Writes the audit line of a decision. `address` may be empty. `request`: the one whose user decided, instead of the
/// ticket's.
void egress_audit(const egress_ticket& ticket, const host& who, std::uint16_t port, std::string_view decision,
                  std::string_view rule, std::string_view address, std::string_view request = {});

}  // namespace cmcp
