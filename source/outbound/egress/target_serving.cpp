#include "async/with_deadline.hpp"
#include "egress/proxy_connection.hpp"
#include "egress/secret_exchange.hpp"

#include <boost/asio/write.hpp>

#include <algorithm>

namespace cmcp {

namespace {

using tcp = asio::ip::tcp;
using opening_kind = client_opening::kind;

using std::chrono::milliseconds;

constexpr milliseconds first_word{300};
constexpr milliseconds longest_silence{5000};
constexpr std::size_t opening_piece = 4096;

awaitable<> wait_readable(stream_socket& socket) { co_await socket.async_wait(stream_socket::wait_read, as_tuple); }

std::string rule_for(opening_kind is)
{
    if (is == opening_kind::http) return "host";
    return is == opening_kind::other ? "protocol" : "server name";
}

std::string needs_port(const egress_target& target, const std::string& why)
{
    const std::string text = target.who.with_port(target.port);
    return text + " is refused: " + why + "; other protocols need an entry with the port, \"" + text + "\".";
}

}  // namespace

awaitable<> proxy_connection::refuse(std::string rule, std::string sentence)
{
    note_refusal(rule, sentence);
    co_await answer(403, std::move(rule), std::move(sentence));
}

void proxy_connection::note_refusal(const std::string& rule, const std::string& sentence)
{
    note_refusal(target_->who, target_->port, rule, sentence);
}

void proxy_connection::note_refusal(const host& who, std::uint16_t port, const std::string& rule,
                                    const std::string& sentence)
{
    egress_audit(*ticket_, who, port, "refused", rule, {});
    ticket_->add_refusal({who.name, port, rule, sentence});
}

proxy_connection::dialect proxy_connection::dialect_of(opening_kind is)
{
    if (is == opening_kind::http) return dialect::http;
    return is == opening_kind::tls || is == opening_kind::bad ? dialect::tls : dialect::other;
}

awaitable<> proxy_connection::serve_target()
{
    speaks_ = dialect::other;
    std::optional<egress_error> refusal;
    try {
        if (!upstream_) co_await egress_require(ticket_, target_->who, target_->port);
        note_moved();
    } catch (const egress_error& failure) {
        refusal = failure;
    }
    const bool may_be_silent = !has_secrets() && ticket_->policy()->names_port(target_->who, target_->port);
    const auto patience = std::min(longest_silence, ticket_->limits().idle / 2);
    const auto limit = refusal || may_be_silent ? first_word : patience;
    const bool speaks = co_await speaks_within(limit);
    if (refusal && speaks) co_await refuse_in_its_words(refusal->rule, refusal->what());
    if (refusal) co_return;
    if (speaks)
        co_await serve_opening();
    else if (may_be_silent)
        co_await serve_silent_client();
    else
        note_refusal(
            "protocol",
            needs_port(*target_, "the client waits for the server to speak first, as in neither TLS nor HTTP/1"));
}

awaitable<> proxy_connection::refuse_in_its_words(std::string rule, std::string sentence)
{
    co_await read_opening();
    co_await answer(403, std::move(rule), std::move(sentence));
}

awaitable<> proxy_connection::serve_opening()
{
    const auto opening = co_await read_opening();
    if (opening.is == opening_kind::more) co_return;
    const std::string problem = opening_problem(opening);
    if (!problem.empty()) {
        co_await refuse(rule_for(opening.is), problem);
    } else if (has_secrets() || (opening.is == opening_kind::http && !plain_problem(target_->who, 0).empty())) {
        co_await serve_with_secrets(opening.is);
    } else if (opening.is == opening_kind::http) {
        co_await serve_requests();
    } else {
        const bool reached = co_await reach_target();
        if (reached && opening.is == opening_kind::tls)
            co_await relay_tls();
        else if (reached)
            co_await relay();
    }
}

awaitable<> proxy_connection::relay_tls()
{
    hear_upstream_ = [this](std::string_view bytes) {
        if (hellos_.is_over()) return;
        hellos_.answer(bytes);
        answered_.notify();
    };
    auto self = std::static_pointer_cast<proxy_connection>(shared_from_this());
    co_await relay(copy_hellos(self), copy_answer(self));
    hear_upstream_ = nullptr;
}

awaitable<> proxy_connection::copy_answer(std::shared_ptr<proxy_connection> self)
{
    co_await copy(self, false);
    self->answer_ends_ = true;
    self->answered_.notify();
}

// Each ClientHello is judged before a byte of it leaves: after a HelloRetryRequest the next one may name another
// server. A refusal is the end of the connection, because the server writes to the client already.
awaitable<> proxy_connection::copy_hellos(std::shared_ptr<proxy_connection> self)
{
    auto& hellos = self->hellos_;
    while (!hellos.is_over()) {
        const auto size = hellos.passable();
        if (size > 0) {
            if (!self->moved(size)) co_return;
            const auto ready = asio::buffer(self->from_client_.data(), size);
            auto [failed, sent] = co_await asio::async_write(self->upstream_->socket, ready, as_tuple);
            if (failed) co_return self->close();
            self->from_client_.consume(size);
            hellos.passed();
        }
        while (hellos.waits_for_answer() && !self->answer_ends_) co_await self->answered_.wait();
        if (hellos.waits_for_answer()) co_return self->close();
        const auto opening = hellos.parse(self->unsent());
        std::string problem;
        if (opening.is != opening_kind::more) problem = self->opening_problem(opening);
        if (!problem.empty()) {
            self->note_refusal(rule_for(opening.is), problem);
            co_return self->close();
        }
        if (hellos.passable() > 0 || hellos.waits_for_answer() || hellos.is_over()) continue;
        const bool more = co_await self->read_more();
        if (more) continue;
        if (!self->unsent().empty()) co_return self->close();
        break;
    }
    co_await copy(self, true);
}

// A client may be slow and speak first all the same, so whoever speaks first decides.
awaitable<> proxy_connection::serve_silent_client()
{
    const bool reached = co_await reach_target();
    if (!reached) co_return;
    const bool server_first = co_await server_speaks_first();
    if (!server_first) co_return co_await serve_opening();
    auto outward = copy_when_judged(std::static_pointer_cast<proxy_connection>(shared_from_this()));
    co_await relay(std::move(outward));
}

awaitable<bool> proxy_connection::reach_target()
{
    if (upstream_) co_return true;
    const bool reached = co_await reach(target_->who, target_->port);
    co_return reached;
}

awaitable<bool> proxy_connection::speaks_within(milliseconds limit)
{
    if (from_client_.size() > 0) co_return true;
    try {
        co_await with_deadline(wait_readable(client_), limit);
    } catch (const deadline_exceeded&) {
        co_return false;
    }
    co_return true;
}

awaitable<bool> proxy_connection::server_speaks_first()
{
    auto either =
        asio::experimental::make_parallel_group(client_.async_wait(stream_socket::wait_read, asio::deferred),
                                                upstream_->socket.async_wait(stream_socket::wait_read, asio::deferred));
    const auto result = co_await either.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
    co_return std::get<0>(result)[0] == 1;
}

// Ends as `more` when the client does.
awaitable<client_opening> proxy_connection::read_opening()
{
    for (;;) {
        const auto opening =
            client_opening::is_tls(unsent()) ? hellos_.parse(unsent()) : client_opening::parse(unsent());
        speaks_ = dialect_of(opening.is);
        if (opening.is != opening_kind::more) co_return opening;
        const bool more = co_await read_more();
        if (!more) co_return opening;
    }
}

std::string_view proxy_connection::unsent() const
{
    const auto read = from_client_.data();
    return {static_cast<const char*>(read.data()), read.size()};
}

awaitable<bool> proxy_connection::read_more()
{
    const auto room = from_client_.prepare(std::min(opening_piece, from_client_.max_size() - from_client_.size()));
    auto [failure, got] = co_await client_.async_read_some(room, as_tuple);
    if (failure) co_return false;
    from_client_.commit(got);
    note_moved();
    co_return true;
}

// The server has spoken, so there are two that write to the client, and a refusal is the end of the connection.
awaitable<> proxy_connection::copy_when_judged(std::shared_ptr<proxy_connection> self)
{
    const auto opening = co_await self->read_opening();
    const bool half = opening.is == opening_kind::more && self->from_client_.size() > 0;
    std::string problem = self->opening_problem(opening);
    if (opening.is == opening_kind::http) problem = "A request of HTTP came after its server had spoken.";
    if (opening.is == opening_kind::tls) problem = "A TLS handshake came after its server had spoken.";
    if (!problem.empty()) self->note_refusal(rule_for(opening.is), problem);
    if (half || !problem.empty()) co_return self->close();
    co_await copy(self, true);
}

std::string proxy_connection::opening_problem(const client_opening& opening) const
{
    const auto& [who, port] = *target_;
    if (opening.is == opening_kind::tls) return server_name_problem(opening.server_name, who, port);
    if (opening.is == opening_kind::bad)
        return who.with_port(port) + " is refused: the client sent no TLS handshake that can be checked.";
    if (opening.is != opening_kind::other || ticket_->policy()->names_port(who, port)) return {};
    return needs_port(*target_, "the client speaks neither TLS nor HTTP/1");
}

bool proxy_connection::has_secrets() const
{
    return ticket_->secrets() != nullptr && ticket_->secrets()->at(target_->who, target_->port) != nullptr;
}

std::string proxy_connection::plain_problem(const host& who, std::uint16_t port) const
{
    if (ticket_->secrets() == nullptr || !ticket_->secrets()->concerns(who)) return {};
    return (port == 0 ? who.text() : who.with_port(port)) +
           " is refused without TLS: a secret of this sandbox is for this host; use https://" + who.text() + ".";
}

// Another protocol at the port of a secret could not be looked into.
awaitable<> proxy_connection::serve_with_secrets(client_opening::kind is)
{
    if (is == client_opening::kind::tls) {
        secret_exchange exchange(*this);
        co_return co_await exchange.run();
    }
    std::string problem = plain_problem(target_->who, target_->port);
    co_await refuse("secret", std::move(problem));
}

}  // namespace cmcp
