#include "http/tls_entrance.hpp"

#include "async/uncancelled.hpp"
#include "metrics/registry.hpp"
#include "tls/tls_session.hpp"

#include <algorithm>
#include <thread>

namespace cmcp {

using boost::system::error_code;

namespace {

// The requests of those who are in have the other half of the machine.
std::size_t handshake_threads() { return std::clamp(std::thread::hardware_concurrency() / 2, 1u, 8u); }

void count_handshake(const char* result)
{
    static auto& handshakes =
        metrics::all().counters("cmcp_tls_handshakes_total", "TLS handshakes by result.", {"result"});
    handshakes.at({result}).add();
}

}  // namespace

tls_entrance::tls_entrance(const http_settings& config) : certificate_(config), threads_(handshake_threads()) {}

awaitable<bool> tls_entrance::admit(std::shared_ptr<client_socket> peer, std::chrono::milliseconds patience)
{
    auto session = std::make_unique<tls_session>(certificate_.context(), peer->stream().socket().native_handle());
    const bool finished = co_await shake_hands(peer, *session, clock::now() + patience);
    const bool admitted = finished && session->is_admissible();
    count_handshake(!admitted ? "refused" : session->resumed() ? "resumed" : "full");
    if (admitted)
        peer->go_on_with(std::move(session));
    else
        note_refusal(peer->address(), finished ? "the client's certificate is not valid any more" : session->problem());
    co_return admitted;
}

awaitable<bool> tls_entrance::shake_hands(std::shared_ptr<client_socket> peer, tls_session& session,
                                          clock::time_point until)
{
    for (;;) {
        auto address = peer->address();
        auto problem = co_await step(std::move(address), session, until);
        if (!problem) co_return true;
        if (problem != asio::error::would_block || peer->timed_out()) co_return false;
        const auto side =
            session.wants() == tls_session::side::input ? stream_socket::wait_read : stream_socket::wait_write;
        auto [failed] = co_await peer->stream().socket().async_wait(side, as_tuple);
        if (failed) co_return false;
    }
}

// The connection lasts until the step has ended, because the step reads from its socket.
awaitable<error_code> tls_entrance::step(std::string address, tls_session& session, clock::time_point until)
{
    auto work = [own = &session, until] {
        return clock::now() < until ? own->shake_hands() : error_code(asio::error::timed_out);
    };
    auto running = threads_.run(std::move(address), std::move(work));
    auto result = co_await uncancelled(std::move(running));
    co_return result;
}

void tls_entrance::note_refusal(const std::string& peer, const std::string& problem)
{
    if (!refused_.may_write()) return;
    log::info("tls_refused", {{"peer", peer}, {"reason", problem.empty() ? "the handshake took too long" : problem}});
}

}  // namespace cmcp
