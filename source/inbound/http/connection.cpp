#include "http/connection.hpp"

#include "async/asio.hpp"
#include "config/http_settings.hpp"
#include "config/networks.hpp"
#include "http/body_stream.hpp"
#include "http/client_socket.hpp"
#include "http/forwarded_client.hpp"
#include "http/http_reply.hpp"
#include "http/long_body.hpp"
#include "http/proxy_header.hpp"
#include "http/refusal.hpp"
#include "http/request_reader.hpp"
#include "identity/quotas.hpp"
#include "log/log.hpp"
#include "log/request_id.hpp"
#include "metrics/registry.hpp"
#include "metrics/trace_context.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <sys/socket.h>

namespace cmcp {

namespace {

constexpr std::chrono::milliseconds time_for_refusal(2000);
constexpr char tls_handshake = 0x16;  // the type of a record, which begins each connection of TLS

using first_bytes = std::array<char, proxy_header::longest>;

// Of the calling thread, until its next call.
std::string_view peek(client_socket& peer)
{
    thread_local first_bytes room;
    const auto size = ::recv(peer.stream().socket().native_handle(), room.data(), room.size(), MSG_PEEK);
    return {room.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

void take(client_socket& peer, std::size_t size)
{
    first_bytes seen;
    if (size != 0) ::recv(peer.stream().socket().native_handle(), seen.data(), size, 0);
}

awaitable<bool> wait_for_bytes(client_socket& peer)
{
    auto [failed] = co_await peer.stream().socket().async_wait(stream_socket::wait_read, as_tuple);
    co_return !failed;
}

void note_bad_header(connection_context& context, const client_socket& peer)
{
    if (!context.refused_openings.may_write()) return;
    log::warning("proxy_header_refused",
                 {{"peer", peer.address()}, {"advice", "the proxy's header of the PROXY protocol breaks its rules"}});
}

// Bytes are taken from the socket as soon as it is known to be of the header, and no byte behind the header.
// Bytes that were only like its beginning become those of the first request.
awaitable<bool> read_proxy_header(client_socket& peer, connection_context& context)
{
    std::string taken;
    for (;;) {
        auto arrived = co_await wait_for_bytes(peer);
        if (!arrived) co_return false;
        const auto seen = peek(peer);
        if (seen.empty()) co_return false;
        const auto header = proxy_header::look(taken + std::string(seen));
        if (header.is == proxy_header::state::refused) note_bad_header(context, peer);
        if (header.is == proxy_header::state::refused) co_return false;
        if (header.is == proxy_header::state::none) break;
        const bool whole = header.is == proxy_header::state::read;
        const auto size = whole ? header.size - taken.size() : seen.size();
        taken.append(seen.substr(0, size));
        take(peer, size);
        if (whole) peer.set_address(header.client ? address_text(*header.client) : unknown_client);
        if (whole) co_return true;
    }
    auto& input = peer.buffer();
    input.commit(asio::buffer_copy(input.prepare(taken.size()), asio::buffer(taken)));
    co_return true;
}

// For a person or a program that has written http:// where https:// is meant.
awaitable<> refuse_plain_http(client_socket& peer)
{
    auto reply = error_reply(400, "This port speaks HTTPS: use an address that begins with https://.");
    reply.body = refusal_body(reply, false);
    auto text = reply_head(reply.status, reply.fields, reply.type());
    append_field(text, "Content-Length", std::to_string(reply.body.size()));
    text += "Connection: close\r\n\r\n" + reply.body;
    auto sent = co_await peer.write(text);
    if (sent) co_await peer.close_gently(time_for_refusal);
}

awaitable<bool> become_tls(std::shared_ptr<client_socket> peer, std::shared_ptr<connection_context> context)
{
    const bool arrived = co_await wait_for_bytes(*peer);
    if (!arrived) co_return false;
    const auto seen = peer->buffer().size() != 0 ? peer->buffered() : peek(*peer);
    if (seen.empty()) co_return false;
    const char first = seen.front();
    if (first == tls_handshake) {
        const bool admitted = co_await context->tls->admit(peer, context->config.header_timeout);
        co_return admitted;
    }
    peer->clear_deadline();
    const bool like_http = (first >= 'A' && first <= 'Z') || first == '\r';
    if (like_http) co_await refuse_plain_http(*peer);
    co_return false;
}

// While the mark lives, the end of the server ends the opening.
struct opening_mark {
    opening_mark(connection_context& context, client_socket& peer) : context_(context), peer_(&peer)
    {
        context_.openings.insert(peer_);
    }
    ~opening_mark() { context_.openings.erase(peer_); }
    opening_mark(const opening_mark&) = delete;
    opening_mark& operator=(const opening_mark&) = delete;

private:
    connection_context& context_;
    client_socket* peer_;
};

// Opens a connection for its first request: reads the PROXY header of a trusted proxy, and begins TLS where
// this server speaks it. Both together have http_settings::header_timeout. False: the connection has ended.
awaitable<bool> open_connection(std::shared_ptr<client_socket> peer, std::shared_ptr<connection_context> context)
{
    if (context->stopping) co_return false;
    const opening_mark open(*context, *peer);
    peer->set_deadline(context->config.header_timeout);
    const bool speaks_tls = context->tls != nullptr && peer->address() != "unix";
    bool good = true;
    if (context->proxies.contains(peer->address())) good = co_await read_proxy_header(*peer, *context);
    if (good && speaks_tls) good = co_await become_tls(peer, context);
    peer->clear_deadline();
    co_return good && !context->stopping;
}

// How long a peer has to read the last answer.
constexpr std::chrono::milliseconds last_words(2000);
constexpr std::chrono::milliseconds last_words_at_stop(200);

// While the mark lives, the server may end a connection on which no request has begun to arrive.
struct reading_mark {
    reading_mark(connection_context& context, request_reader& reader) : context_(context), reader_(&reader)
    {
        context_.readers.insert(reader_);
    }
    ~reading_mark() { context_.readers.erase(reader_); }
    reading_mark(const reading_mark&) = delete;
    reading_mark& operator=(const reading_mark&) = delete;

private:
    connection_context& context_;
    request_reader* reader_;
};

// The connection ends with the login of the request that is answered on it.
class peer_hold final : public login_holds::hold {
public:
    explicit peer_hold(client_socket& peer) : peer_(peer) {}

private:
    void login_ended() override { peer_.break_off(); }

    client_socket& peer_;
};

void count(const router& routes, const http_request& request, const exchange& answered,
           std::chrono::steady_clock::time_point began)
{
    static auto& requests = metrics::all().counters("cmcp_http_requests_total",
                                                    "HTTP requests by path and status; 0: the "
                                                    "peer was gone.",
                                                    {"path", "status"});
    static auto& seconds = metrics::all().histograms(
        "cmcp_http_request_seconds", "Time from a whole request to its whole answer, streams left out.", {"path"});
    const std::string_view path = request.target != nullptr ? request.target->path : routes.known_path(request.path);
    requests.at({path, std::to_string(answered.status())}).add();
    if (answered.streamed()) return;
    seconds.at({path}).observe(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
}

// The path of a relayed request holds the token of a link.
std::string_view logged_path(const http_request& request)
{
    return request.target != nullptr && request.target->relays ? request.target->path : request.path;
}

void log_access(const http_request& request, int status, std::chrono::steady_clock::time_point began)
{
    if (!log::enabled(log::level::debug)) return;
    auto trace = metrics::trace_id(request.header("traceparent").value_or(""));
    log::debug("http_request", {{"request", request.id},
                                {"client_request_id", log::unless_empty(request.client_id())},
                                {"method", request.method},
                                {"path", logged_path(request)},
                                {"status", status},
                                {"ms", std::chrono::steady_clock::now() - began},
                                {"trace", trace}});
}

bool counts_as_call(const http_request& request)
{
    const auto counts = request.target == nullptr ? route_counts::none : request.target->counts;
    const bool changes = request.method != "GET" && request.method != "HEAD";
    return counts == route_counts::all || (counts == route_counts::changes && changes);
}

// Whether the caller has calls left for the request; else it has its answer.
awaitable<bool> begin_call(exchange& x, quotas* limits)
{
    if (limits == nullptr || !counts_as_call(x.request())) co_return true;
    const auto wait = co_await limits->begin_call(x.request().principal);
    if (wait == std::chrono::milliseconds(0)) co_return true;
    auto refusal = error_reply(429, quotas::refusal_of_call(wait), "RateLimited");
    refusal.with("Retry-After", std::to_string(quotas::seconds_to_wait(wait)));
    if (x.request().stream && !x.request().stream->complete()) x.close_after();  // its client is told before it goes on
    co_await x.reply(std::move(refusal));
    co_return false;
}

// Whether the request of another server is told to go elsewhere, because this one ends and has begun nothing of it.
awaitable<bool> turns_away(exchange& x, const connection_context& context)
{
    const bool ends = context.of_members && context.stopping && context.members != nullptr;
    if (ends) co_await context.members->turn_away(x);
    co_return ends;
}

// How a request ended.
struct served {
    bool peer_gone = false;  // before its request was whole
    bool go_on = false;
    awaitable<bool> rest;  // of an answer that goes on as a stream
};

awaitable<served> serve_request(client_socket& peer, connection_context& context, request_reader& reader,
                                connection_origin& known, login_holds::hold& hold)
{
    served done;
    http_request request;
    http_reply refusal;
    auto outcome = co_await reader.next(request, refusal);
    done.peer_gone = outcome == request_reader::outcome::closed;
    if (done.peer_gone) co_return done;
    auto began = std::chrono::steady_clock::now();
    request.id = log::next_id('r');
    if (refusal.status == 401) context.note_refused_login(request, refusal.problem);
    note_origin(request, known, context.seen);
    const auto unrecordable = why_unrecordable(request);
    if (!unrecordable.empty() && outcome == request_reader::outcome::request) {
        outcome = request_reader::outcome::refused;
        refusal = error_reply(503, unrecordable, "NotAvailable").with("Retry-After", "5");
    }
    hold.begin(context.logins, request.who);
    exchange x(peer, request, context.guard, hold);
    if (context.stopping) x.close_after();
    bool is_own = outcome != request_reader::outcome::refused;
    if (!is_own)
        co_await x.reply(std::move(refusal));
    else
        is_own = !co_await turns_away(x, context);
    if (is_own && context.members != nullptr && context.members->is_elsewhere(request))
        is_own = !co_await context.members->pass_on(x);
    auto* const pool = is_own && has_long_body(request) ? context.pool.lock().get() : nullptr;
    if (pool != nullptr) is_own = co_await read_long_body(peer, request, *pool, context.config, *context.budget);
    if (request.target != nullptr) loop_steps::name(request.target->path.c_str());
    if (is_own) is_own = co_await begin_call(x, context.limits);
    if (is_own) is_own = !co_await turns_away(x, context);
    if (is_own) co_await context.routes.serve(x);
    if (pool != nullptr && request.read_body)
        pool->discard(x.executor(), request.payer(), std::move(request.read_body));
    // The rest of an unread body would be taken for the next request.
    if (request.stream && !request.stream->complete()) x.close_after();
    done.rest = x.take_rest();
    if (!done.rest.valid()) peer.unwatch();
    count(context.routes, request, x, began);
    if (unrecordable.empty()) record_request(request, x.status(), std::chrono::steady_clock::now() - began);
    log_access(request, x.status(), began);
    done.go_on = x.can_go_on();
    co_return done;
}

awaitable<> serve_peer(std::shared_ptr<client_socket> peer, std::shared_ptr<connection_context> context)
{
    connection_origin known;
    request_reader reader(*peer, context->config, *context->budget, context->guard, context->routes, context->proxies,
                          context->of_members ? context->members : nullptr);
    std::optional<reading_mark> reads(std::in_place, *context, reader);
    peer_hold hold(*peer);
    for (bool go_on = true; go_on;) {
        auto begun = reader.begun();
        if (!begun) begun = co_await reader.wait();
        if (!begun) co_return;
        served done = co_await serve_request(*peer, *context, reader, known, hold);
        if (done.peer_gone) co_return;
        go_on = done.go_on;
        if (done.rest.valid()) {
            reads.reset();
            auto ended = co_await std::move(done.rest);
            peer->unwatch();
            go_on = go_on && ended && !peer->gone();
            reads.emplace(*context, reader);
        }
        hold.end();
        // Another server ends its connection itself when it hears of this one's end, so that no request meets it.
        go_on = go_on && (!context->stopping || context->of_members);
    }
    auto limit = context->stopping ? last_words_at_stop : last_words;
    if (!peer->gone()) co_await peer->close_gently(limit);
}

awaitable<> open_and_serve(std::shared_ptr<client_socket> peer, std::shared_ptr<connection_context> context)
{
    const bool open = co_await open_connection(peer, context);
    if (open) co_await serve_peer(std::move(peer), std::move(context));
}

}  // namespace

connection_context::connection_context(const http_settings& by, const request_guard& guards, const router& routing,
                                       std::shared_ptr<deadline_wheel> wheel, std::shared_ptr<memory_budget> memory)
    : config(by),
      guard(guards),
      routes(routing),
      proxies(by.trusted_proxies),
      deadlines(std::move(wheel)),
      budget(std::move(memory))
{
}

void connection_context::close_idle()
{
    for (auto* reader : readers) reader->interrupt_if_idle();
    for (auto* opening : openings) opening->set_deadline(std::chrono::milliseconds(0));
}

void connection_context::settle_logs()
{
    refused_logins.settle();
    refused_openings.settle();
    proxies.settle();
    if (tls != nullptr) tls->settle();
}

// The path is a peer's text; the query may hold a session id.
void connection_context::note_refused_login(const http_request& request, std::string_view sentence)
{
    constexpr std::size_t longest_path = 200;
    const auto reason = problem_of_login(request, sentence);
    record_refused_login(request, reason);
    if (!refused_logins.may_write()) return;
    log::warning("login_refused", {{"request", request.id},
                                   {"client_request_id", log::unless_empty(request.client_id())},
                                   {"peer", request.address},
                                   {"method", request.method},
                                   {"path", std::string_view(request.path).substr(0, longest_path)},
                                   {"reason", reason}});
}

// No coroutine: the frame of one would hold the socket, moved from, for as long as the connection.
awaitable<> serve_connection(stream_socket socket, std::shared_ptr<connection_context> context)
{
    auto timeout = context->config.write_timeout;
    auto peer = std::make_shared<client_socket>(std::move(socket), timeout, context->deadlines);
    const bool at_once = context->tls == nullptr && context->proxies.empty();
    return at_once ? serve_peer(std::move(peer), std::move(context))
                   : open_and_serve(std::move(peer), std::move(context));
}

}  // namespace cmcp
