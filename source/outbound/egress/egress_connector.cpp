#include "egress/egress_connector.hpp"

#include "async/with_deadline.hpp"
#include "audit/sink.hpp"
#include "egress/egress_decisions.hpp"
#include "egress/resolver.hpp"
#include "log/bounded_log.hpp"
#include "log/log.hpp"
#include "metrics/registry.hpp"
#include "text/time_text.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/error.hpp>

#include <algorithm>

namespace cmcp {
namespace {

namespace ip = boost::asio::ip;
using tcp = asio::ip::tcp;
using kind = egress_error::kind;
using clock = std::chrono::steady_clock;

constexpr std::size_t addresses_tried = 6;
constexpr auto least_attempt = std::chrono::milliseconds(500);

[[noreturn]] void fail(egress_ticket& ticket, const host& who, std::uint16_t port, kind is, std::string rule,
                       const std::string& sentence, std::string_view address = {})
{
    egress_audit(ticket, who, port, is == kind::refused ? "refused" : "failed", rule, address);
    ticket.add_refusal({who.name, port, rule, sentence});
    throw egress_error(is, std::move(rule), sentence);
}

void require(egress_ticket& ticket, const host& who, std::uint16_t port, const policy_decision& decision,
             std::string_view address = {})
{
    if (decision.allowed) return;
    const std::string of_code = ticket.is_within_another()
                                    ? " Tools that code in a sandbox calls reach what the sandbox's network reaches."
                                    : "";
    fail(ticket, who, port, kind::refused, decision.rule, decision.sentence + of_code, address);
}

awaitable<std::vector<ip::address>> look_up(egress_ticket& ticket, host who, std::uint16_t port)
{
    std::string problem;
    bool late = false;
    try {
        auto addresses = co_await with_deadline(resolve(who.name), ticket.limits().resolve);
        co_return addresses;
    } catch (const resolve_error& failure) {
        problem = failure.what();
        late = failure.no_answer;
    } catch (const deadline_exceeded&) {
        late = true;
    }
    if (late)
        fail(ticket, who, port, kind::timeout, "timeout",
             "Timed out while resolving " + who.name + ": no name server answered; try again later.");
    fail(ticket, who, port, kind::unresolved, "unresolved",
         "The host " + who.name + " does not resolve (" + problem + "); check its spelling.");
}

// IPv6 and IPv4 in turns, so that a broken family costs one attempt.
std::vector<ip::address> in_turns(const std::vector<ip::address>& all)
{
    std::vector<ip::address> first, second, mixed;
    for (const auto& address : all) (address.is_v6() == all.front().is_v6() ? first : second).push_back(address);
    for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
        if (i < first.size()) mixed.push_back(first[i]);
        if (i < second.size()) mixed.push_back(second[i]);
    }
    mixed.resize(std::min(mixed.size(), addresses_tried));
    return mixed;
}

struct connect_attempt {
    bool is_late() const { return failure == boost::beast::error::timeout; }

    stream_socket socket;
    ip::address address{};
    boost::system::error_code failure{};
};

awaitable<connect_attempt> connect_any(std::vector<ip::address> addresses, std::uint16_t port,
                                       std::chrono::milliseconds limit)
{
    auto executor = co_await asio::this_coro::executor;
    connect_attempt last{stream_socket(executor)};
    const auto end = clock::now() + limit;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        last.address = addresses[i];
        last.socket = stream_socket(executor);
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - clock::now());
        const auto share =
            std::max<std::chrono::milliseconds>(least_attempt, left / static_cast<int>(addresses.size() - i));
        const tcp::endpoint to(last.address, port);
        last.failure = co_await connect_within(last.socket, to, share);
        auto state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() != asio::cancellation_type::none)
            throw boost::system::system_error(asio::error::operation_aborted);
        if (!last.failure) break;
    }
    co_return last;
}

awaitable<std::vector<ip::address>> judged_addresses(egress_ticket& ticket, host who, std::uint16_t port)
{
    std::vector<ip::address> addresses;
    if (who.address) {
        addresses.push_back(*who.address);
    } else {
        addresses = co_await look_up(ticket, who, port);
    }
    for (const auto& address : addresses)
        require(ticket, who, port, ticket.policy()->judge(who, address, port), address.to_string());
    co_return in_turns(addresses);
}

// A page of a sandbox could tell the outside what is in the sandbox, which has no network.
awaitable<egress_socket> connect_inside(std::shared_ptr<egress_ticket> ticket, host who, std::uint16_t port)
{
    if (!is_this_machine(who))
        fail(*ticket, who, port, kind::refused, "sandbox",
             "A page of a sandbox reaches this sandbox alone, at localhost, and not " + who.name + ".");
    if (!ticket->enter())
        fail(*ticket, who, port, kind::busy, "busy", "Too many connections at once; try again in a few seconds.");
    auto executor = co_await asio::this_coro::executor;
    egress_socket connection(executor, ticket);
    std::string problem;
    try {
        connection.socket = co_await ticket->inside()(port);
    } catch (const boost::system::system_error&) {
        throw;
    } catch (const std::runtime_error& failure) {
        problem = failure.what();
    }
    if (!problem.empty()) fail(*ticket, who, port, kind::unreachable, "unreachable", problem);
    egress_audit(*ticket, who, port, "allowed", "sandbox", {});
    co_return std::move(connection);
}

}  // namespace

bool is_this_machine(const host& who)
{
    return who.address ? unmapped(*who.address).is_loopback() : who.name == "localhost";
}

void egress_audit(const egress_ticket& ticket, const host& who, std::uint16_t port, std::string_view decision,
                  std::string_view rule, std::string_view address, std::string_view request)
{
    if (request.empty()) request = ticket.request();
    constexpr std::uint64_t most_lines = 50;  // a second: programs can cause thousands
    static log::bounded_log lines("egress_more", most_lines);
    if (lines.may_write())
        log::info("egress", {{"use", ticket.label()},
                             {"host", who.name},
                             {"port", port},
                             {"address", address},
                             {"decision", decision},
                             {"rule", rule}});
    audit::add(audit::kind::egress, {{"request", log::unless_empty(request)},
                                     {"principal", log::unless_empty(ticket.principal())},
                                     {"use", ticket.label()},
                                     {"host", who.name},
                                     {"port", port},
                                     {"address", log::unless_empty(address)},
                                     {"decision", decision},
                                     {"rule", rule}});
    static auto& connections =
        metrics::all().counters("cmcp_egress_connections_total",
                                "Connections to the outside by decision (allowed, refused, failed), and questions to "
                                "users for them (asked, approved).",
                                {"decision"});
    connections.at({decision}).add();
    note_egress_bytes(0);  // so that the figure is there
    const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
    const bool good = decision == "allowed" || decision == "approved";
    if (decision != "asked")
        egress_decisions().add({now.count(), ticket.principal(), who.name, port, good, std::string(rule)});
}

void note_egress_bytes(std::uint64_t more)
{
    static auto& bytes =
        metrics::all().counters("cmcp_egress_bytes_total", "Bytes received from the outside and sent to it.").at();
    bytes.add(static_cast<double>(more));
}

recent<egress_decision>& egress_decisions()
{
    static recent<egress_decision> latest(200);
    return latest;
}

policy_decision egress_ticket::judge(const host& who, std::uint16_t port) const
{
    if (has_ended())
        return {false, "ended", who.with_port(port) + " is refused: the network that this was for has changed.", false};
    if (!outer_) return policy_->judge(who, port);
    auto listed = policy_->judge_name(who, port);
    return listed.allowed ? outer_->judge(who, port) : listed;
}

std::string egress_ticket::refusal_of_bytes() const
{
    if (bytes_ > limits_.bytes)
        return "Cut: more than the limit of " + std::to_string(limits_.bytes >> 20) + " MiB was transferred.";
    if (outer_) return outer_->refusal_of_bytes();
    return account_ && !has_ended_ ? account_->refusal() : "Cut: the network that this was for has changed.";
}

awaitable<> egress_require(std::shared_ptr<egress_ticket> ticket, host who, std::uint16_t port)
{
    auto decision = ticket->judge(who, port);
    if (decision.asks && ticket->prompt()) {
        auto asking = ticket->prompt()(ticket, who, port);
        const auto answer = co_await std::move(asking);
        decision = answer.allowed ? ticket->judge(who, port) : answer;
    }
    require(*ticket, who, port, decision);
}

awaitable<egress_socket> egress_connect(std::shared_ptr<egress_ticket> ticket, host who, std::uint16_t port,
                                        std::function<void(std::string, std::string)> entered)
{
    if (ticket->inside()) {
        auto within = co_await connect_inside(std::move(ticket), std::move(who), port);
        co_return std::move(within);
    }
    co_await egress_require(ticket, who, port);
    if (const auto why = audit::refusal(); !why.empty()) throw egress_error(kind::refused, "audit", why);
    if (ticket->account() != nullptr && !ticket->account()->take(0))
        fail(*ticket, who, port, kind::busy, "bytes", ticket->account()->refusal());
    if (!ticket->enter())
        fail(*ticket, who, port, kind::busy, "busy",
             "Too many connections at once (" + std::to_string(ticket->limits().connections) +
                 "); try again in a few seconds.");
    auto executor = co_await asio::this_coro::executor;
    egress_socket connection(executor, ticket);
    if (entered && !who.address) entered("resolving", "resolving " + who.name);
    auto addresses = co_await judged_addresses(*ticket, who, port);
    if (entered) entered("connecting", "connecting to " + addresses.front().to_string());
    auto attempt = co_await connect_any(addresses, port, ticket->limits().connect);
    const std::string address = attempt.address.to_string();
    if (attempt.is_late())
        fail(*ticket, who, port, kind::timeout, "timeout",
             "Timed out while connecting: " + who.with_port(port) + " did not accept a connection within " +
                 seconds_text(ticket->limits().connect) + ".",
             address);
    if (attempt.failure)
        fail(*ticket, who, port, kind::unreachable, "unreachable",
             who.with_port(port) + " cannot be reached: " + attempt.failure.message() + ".", address);
    egress_audit(*ticket, who, port, "allowed", ticket->policy()->judge(who, attempt.address, port).rule, address);
    connection.socket = std::move(attempt.socket);
    boost::system::error_code ignored;
    connection.socket.set_option(tcp::no_delay(true), ignored);
    co_return std::move(connection);
}

}  // namespace cmcp
