#include "egress/secret_exchange.hpp"

#include "async/with_deadline.hpp"
#include "audit/sink.hpp"
#include "config/config_error.hpp"
#include "egress/message_passing.hpp"
#include "egress/named_request.hpp"
#include "egress/tls_trust.hpp"
#include "log/bounded_log.hpp"
#include "log/log.hpp"

#include <utility>

namespace cmcp {

namespace {

namespace http = boost::beast::http;
namespace ssl = boost::asio::ssl;
using boost::system::error_code;

constexpr std::chrono::seconds farewell_limit{2};

awaitable<> say_farewell(byte_stream& stream) { co_await stream.shut_down_tls(); }

}  // namespace

awaitable<> secret_exchange::run()
{
    const bool accepted = co_await accept();
    if (!accepted) co_return;
    for (bool more = true; more;) more = co_await serve_one();
    co_await close();
}

awaitable<bool> secret_exchange::accept()
{
    const auto& who = of_.target_->who;
    context_ = of_.ticket_->secrets()->authority().context_for(who.name);
    client_ = std::make_unique<byte_stream>(of_.client_);
    client_->begin_tls(*context_);
    const asio::const_buffer hello = of_.from_client_.cdata();
    const auto failure = co_await client_->handshake(ssl::stream_base::server, hello);
    of_.from_client_.clear();
    of_.note_moved();
    if (!failure) co_return true;
    if (of_.client_.is_open())
        of_.note_refusal(
            "certificate",
            who.with_port(of_.target_->port) +
                ": a secret of this sandbox is for this host, so its connections have a certificate of the "
                "sandbox's own authority ($SSL_CERT_FILE) and speak HTTP/1.1; the client did not accept "
                "that.");
    co_return false;
}

// A farewell tells the client that nothing was cut off (RFC 8446 section 6.1).
awaitable<> secret_exchange::close()
{
    if (!of_.client_.is_open()) co_return;
    try {
        co_await with_deadline(say_farewell(*client_), farewell_limit);
    } catch (const deadline_exceeded&) {  // it was sent, and the client does not answer
    }
}

awaitable<bool> secret_exchange::serve_one()
{
    request_parser request;
    request.header_limit(proxy_connection::header_limit);
    request.body_limit(boost::none);
    const auto failure = co_await read_header(*client_, of_.from_client_, request);
    of_.note_moved();
    const bool is_bad = failure.category() == make_error_code(http::error::end_of_stream).category() &&
                        failure != http::error::end_of_stream && failure != http::error::partial_message;
    if (is_bad) co_await refuse(400, "bad request", "The request is no valid HTTP/1.1: " + failure.message() + ".");
    if (failure) co_return false;
    std::string target, problem;
    try {
        target = named_request_url(request.get(), of_.target_->who, of_.target_->port).target;
    } catch (const bad_url& wrong) {
        problem = wrong.what();
    }
    if (!problem.empty()) {
        co_await refuse(403, "host", std::move(problem));
        co_return false;
    }
    const bool awaits = request.get().count(http::field::expect) > 0 && !request.is_done();
    const auto facts = prepare(request, std::move(target));
    const bool comes = co_await let_body_come(awaits);
    if (!comes) co_return false;
    const bool stays = co_await exchange(request, facts);
    co_return stays;
}

// RFC 9110 section 10.1.1: the client waits for this word before it sends a body.
awaitable<bool> secret_exchange::let_body_come(bool is_awaited)
{
    if (!is_awaited) co_return true;
    std::string word = "HTTP/1.1 100 Continue\r\n\r\n";
    const bool sent = co_await write(std::move(word));
    co_return sent;
}

secret_exchange::request_facts secret_exchange::prepare(request_parser& parser, std::string target)
{
    auto& request = parser.get();
    request_facts facts;
    facts.is_head = request.method() == http::verb::head;
    facts.client_stays = parser.keep_alive();
    facts.upgrades = begins_websocket(parser);
    facts.takes_chunks = request.version() >= 11;
    facts.may_repeat = parser.is_done() && (facts.is_head || request.method() == http::verb::get);
    secrets_ = of_.ticket_->secrets()->at(of_.target_->who, of_.target_->port);
    erase_hop_by_hop(request);
    request.target(target);
    request.version(11);
    // Only what is not compressed can be looked into.
    request.set(http::field::accept_encoding, "identity");
    request.erase(http::field::sec_websocket_extensions);
    if (facts.upgrades) keep_upgrade(request);
    // The host could have stored the secret, and be asked for it in parts that hide it.
    request.erase(http::field::range);
    request.erase(http::field::if_range);
    put_secrets(parser);
    return facts;
}

void secret_exchange::put_secrets(request_parser& request)
{
    if (!secrets_) return;
    for (const auto& each : secrets_->all)
        if (each.position.put(request.get(), each.placeholder, each.value)) note_use(each);
}

void secret_exchange::note_use(const held_secret& secret)
{
    const auto& ticket = *of_.ticket_;
    const auto& [who, port] = *of_.target_;
    of_.ticket_->secrets()->note_use(secret);
    if (!noted_.insert(secret.name).second) return;
    constexpr std::uint64_t most_lines = 50;  // a second: programs can cause thousands
    static log::bounded_log lines("secret_used_more", most_lines);
    if (lines.may_write())
        log::info("secret_used",
                  {{"use", ticket.label()}, {"secret", secret.name}, {"host", who.name}, {"port", port}});
    audit::add(audit::kind::egress, {{"principal", log::unless_empty(ticket.principal())},
                                     {"use", ticket.label()},
                                     {"host", who.name},
                                     {"port", port},
                                     {"decision", "allowed"},
                                     {"rule", "secret " + secret.name}});
}

// A server may end a connection at the moment of the next request, which then is sent again.
awaitable<bool> secret_exchange::exchange(request_parser& request, request_facts facts)
{
    std::optional<response_parser> answer;
    for (bool again = true; again;) {
        const bool reached = co_await reach();
        if (!reached) co_return false;
        again = std::exchange(was_used_, true) && facts.may_repeat;
        const bool sent = co_await send(request);
        if (!sent && !again) co_return false;
        bool answered = false;
        if (sent && again) answered = co_await answers();
        if (sent && (!again || answered)) again = false;
        if (again) drop_upstream();
    }
    const bool read = co_await read_answer(answer, facts);
    if (!read) co_return false;
    const bool stays = co_await give(*answer, facts);
    co_return stays;
}

awaitable<bool> secret_exchange::answers()
{
    if (of_.from_upstream_.size() > 0) co_return true;
    auto room = of_.from_upstream_.prepare(4096);
    const auto got = co_await upstream_->read_some(room);
    of_.from_upstream_.commit(got.size);
    co_return !got.failure;
}

bool secret_exchange::is_usable()
{
    return upstream_ && of_.upstream_ && of_.from_upstream_.size() == 0 && is_quiet(of_.upstream_->socket);
}

void secret_exchange::drop_upstream()
{
    upstream_.reset();
    of_.upstream_.reset();
    of_.from_upstream_.clear();
}

awaitable<bool> secret_exchange::reach()
{
    if (is_usable()) co_return true;
    const bool is_fresh = of_.upstream_ && !upstream_;  // CONNECT has made it
    was_used_ = false;
    if (!is_fresh) {
        drop_upstream();
        const auto problem = co_await of_.connect(of_.target_->who, of_.target_->port);
        if (problem) co_await refuse_for(*problem);
        if (problem || !of_.client_.is_open()) co_return false;
    }
    const bool secured = co_await secure();
    co_return secured;
}

awaitable<> secret_exchange::refuse_for(egress_error problem)
{
    const auto status = proxy_connection::status_of(problem.is);
    co_await tell(status, problem.rule, problem.what());
}

awaitable<bool> secret_exchange::secure()
{
    const auto& who = of_.target_->who;
    std::string problem;
    try {
        const auto trust = co_await of_.ticket_->secrets()->trust();
        upstream_ = std::make_unique<byte_stream>(of_.upstream_->socket);
        upstream_->begin_tls(*trust);
    } catch (const config_error& failure) {
        problem = failure.what();
    }
    if (problem.empty()) {
        SSL* const handle = upstream_->tls();
        constexpr std::string_view protocol("\x08http/1.1", 9);
        ::SSL_set_alpn_protos(handle, reinterpret_cast<const unsigned char*>(protocol.data()), protocol.size());
        expect_host(handle, who.name, false);
        const auto failure = co_await upstream_->handshake(ssl::stream_base::client);
        if (failure && of_.client_.is_open()) problem = handshake_problem(handle, failure);
        if (failure && problem.empty()) co_return false;
    }
    of_.note_moved();
    if (problem.empty()) co_return true;
    co_await refuse(502, "certificate", "No secure connection to " + who.text() + ": " + problem + ".");
    co_return false;
}

awaitable<bool> secret_exchange::send(request_parser& request)
{
    auto count = [this](std::size_t bytes) { return of_.moved(bytes); };
    const bool sent = co_await pass_on<true>(*client_, of_.from_client_, request, *upstream_, count);
    co_return sent;
}

awaitable<> secret_exchange::refuse(unsigned status, std::string rule, std::string sentence)
{
    of_.note_refusal(rule, sentence);
    co_await tell(status, std::move(rule), std::move(sentence));
}

awaitable<> secret_exchange::tell(unsigned status, std::string rule, std::string sentence)
{
    std::string bytes = guards_answer(status, rule, sentence);
    co_await write(std::move(bytes));
}

}  // namespace cmcp
