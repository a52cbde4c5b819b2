#include "cluster/member_links.hpp"

#include "egress/reach.hpp"
#include "egress/tls_trust.hpp"
#include "metrics/registry.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <cerrno>
#include <vector>

#include <netinet/tcp.h>
#include <sys/socket.h>

namespace cmcp {

using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::chrono::seconds time_to_connect(3);
constexpr std::chrono::seconds longest_wait(60);
constexpr std::size_t most_waiting = 64;
constexpr int silence_ms = 3000;  // of a machine that is gone without a word; the others agree on it in that time

member_unreachable unreachable(const cluster_member& to, const std::string& why)
{
    return member_unreachable("The server " + to.name + " of this cluster cannot be reached (" + why + ").");
}

// A machine that went away is noticed by the kernel.
void set_options(tcp::socket& socket)
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

// No byte and no end has come since the last answer.
bool is_quiet(secure_stream& stream)
{
    char byte = 0;
    const auto socket = boost::beast::get_lowest_layer(stream).socket().native_handle();
    const auto seen = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return seen < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace

member_links::member_links(asio::any_io_executor executor, const cluster_settings& config)
    : executor_(executor), trust_(config), reaper_(executor)
{
}

awaitable<std::unique_ptr<secure_stream>> member_links::take(cluster_member to)
{
    auto stream = take_waiting(to.name);
    if (stream) count(to.name, "open");
    if (stream) co_return stream;
    std::string why_not;
    try {
        stream = co_await connect(to);
    } catch (const member_unreachable& failure) {
        why_not = failure.what();
    }
    count(to.name, stream ? "new" : "failed");
    if (!stream) throw member_unreachable(why_not);
    co_return stream;
}

// The one that was used last, so that the others may end.
std::unique_ptr<secure_stream> member_links::take_waiting(const std::string& member)
{
    for (auto at = waiting_.end(); at != waiting_.begin();) {
        --at;
        if (at->member != member) continue;
        auto stream = std::move(at->stream);
        at = waiting_.erase(at);
        if (is_quiet(*stream)) return stream;
    }
    return nullptr;
}

awaitable<std::unique_ptr<secure_stream>> member_links::connect(cluster_member to)
{
    auto stream = std::make_unique<secure_stream>(executor_, *trust_.context());
    auto& socket = boost::beast::get_lowest_layer(*stream);
    try {
        co_await reach(socket, to.host, to.port, time_to_connect);
    } catch (const unreachable_server& failure) {
        throw unreachable(to, failure.what());
    }
    set_options(socket.socket());
    co_await shake_hands(*stream, to);
    socket.expires_never();
    co_return stream;
}

awaitable<> member_links::shake_hands(secure_stream& stream, const cluster_member& to)
{
    expect_host(stream.native_handle(), to.name, false);
    auto& socket = boost::beast::get_lowest_layer(stream);
    socket.expires_after(time_to_connect);
    const auto [failure] = co_await stream.async_handshake(boost::asio::ssl::stream_base::client, as_tuple);
    if (failure == asio::error::operation_aborted) throw boost::system::system_error(failure);
    if (failure == boost::beast::error::timeout) throw unreachable(to, connection_problem(failure));
    if (failure) throw unreachable(to, "no secure connection: " + handshake_problem(stream.native_handle(), failure));
}

void member_links::give_back(const cluster_member& to, std::unique_ptr<secure_stream> stream)
{
    waiting_.push_back({to.name, std::move(stream), std::chrono::steady_clock::now()});
    if (waiting_.size() > most_waiting) waiting_.pop_front();
    if (waiting_.size() == 1) close_old();
}

void member_links::close_old()
{
    const auto now = std::chrono::steady_clock::now();
    while (!waiting_.empty() && waiting_.front().since + longest_wait <= now) waiting_.pop_front();
    if (waiting_.empty()) return;
    reaper_.expires_at(waiting_.front().since + longest_wait);
    reaper_.async_wait([weak = weak_from_this()](error_code failure) {
        const auto me = weak.lock();
        if (me && !failure) me->close_old();
    });
}

}  // namespace cmcp
