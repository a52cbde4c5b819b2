#include "cluster/member_links.hpp"

#include "egress/reach.hpp"
#include "egress/tls_trust.hpp"
#include "metrics/registry.hpp"

#include <boost/beast/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include <netinet/tcp.h>
#include <sys/socket.h>

namespace cmcp {

namespace {

constexpr std::chrono::seconds between_direct_tries(5);  // of a connection that failed, while there is a way past it
constexpr std::chrono::seconds longest_wait(60);
constexpr std::size_t most_waiting = 64;
constexpr int silence_ms = 3000;  // of a machine that is gone without a word; the others agree on it in that time

member_unreachable unreachable(const cluster_member& to, const std::string& why)
{
    return member_unreachable("The server " + to.name + " of this cluster cannot be reached (" + why + ").");
}

// A machine that went away is noticed by the kernel.
void set_options(stream_socket& socket)
{
    ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_ms, sizeof silence_ms);
    const int first = 2, between = 1;
    ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_KEEPIDLE, &first, sizeof first);
    ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
}

void count(const std::string& member, std::string_view connection)
{
    static auto& requests = metrics::all().counters(
        "cmcp_member_requests_total",
        "Requests for other servers of the cluster by how they came to a connection: open, new, or failed.",
        {"member", "connection"});
    requests.at({member, connection}).add();
}

}  // namespace

std::string about_to_stop(const std::string& member)
{
    return "The server " + member + " of this cluster is about to stop.";
}

std::string unreachable_past(const std::string& member)
{
    return "The server " + member + " of this cluster cannot be reached, nor past another one.";
}

member_links::member_links(asio::any_io_executor executor, const cluster_settings& config)
    : trust_(config),
      waiting_(std::make_shared<idle_connections>(executor, most_waiting, longest_wait)),
      under_way_(std::make_shared<std::multimap<std::string, http_connection*>>())
{
}

std::shared_ptr<void> member_links::noted(const std::string& member, http_connection& over)
{
    const auto entry = under_way_->emplace(member, &over);
    return {nullptr, [all = under_way_, entry](std::nullptr_t) { all->erase(entry); }};
}

// Whoever waits for an answer reads the end of the connection. A frozen process would keep it open for ever.
void member_links::break_off(const std::string& member)
{
    const auto [first, last] = under_way_->equal_range(member);
    for (auto each = first; each != last; ++each)
        ::shutdown(each->second->stream().socket().native_handle(), SHUT_RDWR);
}

awaitable<member_route> member_links::take(cluster_member to)
{
    member_route route;
    std::string problem = "The server " + to.name + " of this cluster could not be reached a moment ago.";
    const auto others = staying_ ? staying_() : std::vector<cluster_member>();
    const auto is_it = [&](const auto& each) { return each.name == to.name; };
    auto third = std::ranges::find_if_not(others, is_it);
    if (std::ranges::none_of(others, is_it)) third = others.end();  // it is gone for all
    if (third == others.end() || cut_off_[to.name] < std::chrono::steady_clock::now()) {
        try {
            route.over = co_await waiting_or_new(to);
            route.under_way = noted(to.name, *route.over);
            co_return route;
        } catch (const member_unreachable& failure) {
            problem = failure.what();
        }
        cut_off_[to.name] = std::chrono::steady_clock::now() + between_direct_tries;
    }
    if (third == others.end()) throw member_unreachable(problem);
    try {
        auto connecting = waiting_or_new(*third);
        route.over = co_await std::move(connecting);
    } catch (const member_unreachable&) {
        route.over.reset();
    }
    if (!route.over) throw member_unreachable(problem);
    route.past = to.name;
    route.under_way = noted(third->name, *route.over);
    co_return route;
}

awaitable<std::unique_ptr<http_connection>> member_links::waiting_or_new(cluster_member to)
{
    auto connection = waiting_->take(to.name);
    if (connection) count(to.name, "open");
    if (connection) co_return connection;
    std::string why_not;
    try {
        connection = co_await connect(to);
    } catch (const member_unreachable& failure) {
        why_not = failure.what();
    }
    count(to.name, connection ? "new" : "failed");
    if (!connection) throw member_unreachable(why_not);
    co_return connection;
}

awaitable<std::unique_ptr<http_connection>> member_links::connect(cluster_member to, std::chrono::seconds limit)
{
    std::unique_ptr<http_connection> connection;
    try {
        auto socket = co_await reach(to.host, to.port, limit);
        connection = std::make_unique<http_connection>(std::move(socket));
    } catch (const unreachable_server& failure) {
        throw unreachable(to, failure.what());
    }
    auto& stream = connection->stream();
    set_options(stream.socket());
    co_await shake_hands(stream, to, limit);
    stream.expires_never();
    co_return connection;
}

awaitable<> member_links::shake_hands(byte_stream& stream, const cluster_member& to, std::chrono::seconds limit)
{
    stream.expires_after(limit);
    const auto failure = co_await secure(stream, *trust_.context(), to.name, false);
    if (failure == asio::error::operation_aborted) throw boost::system::system_error(failure);
    if (failure == boost::beast::error::timeout) throw unreachable(to, connection_problem(failure));
    if (failure) throw unreachable(to, "no secure connection: " + handshake_problem(stream.tls(), failure));
}

bool member_links::stays(const std::string& member) const
{
    return !staying_ || std::ranges::any_of(staying_(), [&](const auto& each) { return each.name == member; });
}

void member_links::close_to_others()
{
    waiting_->close_if([this](const std::string& member) { return !stays(member); });
}

void member_links::give_back(const cluster_member& to, member_route route)
{
    if (route.past.empty() && stays(to.name)) waiting_->give_back(to.name, std::move(route.over));
}

}  // namespace cmcp
