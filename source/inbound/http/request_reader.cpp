#include "http/request_reader.hpp"

#include "config/http_settings.hpp"
#include "http/body_stream.hpp"
#include "http/member_caller.hpp"
#include "http/member_gateway.hpp"
#include "http/raw_header.hpp"
#include "text/ascii.hpp"
#include "tls/client_certificate.hpp"

#include <algorithm>

#include <utility>

namespace cmcp {

using parser_state = request_parser::state;

namespace {

// The body of a refused request is skipped up to this size, so that the connection stays of use.
constexpr std::uint64_t most_read_over = 64 * 1024;

// Small enough to be taken when memory is short: pings, cancellations and most calls.
constexpr std::uint64_t small_body = 64 * 1024;

http_reply memory_short(const memory_budget::part& own)
{
    auto reply =
        own.own_fault()
            ? error_reply(429,
                          "Your messages take as much of the server's memory as one caller may have "
                          "(MCP_MEMORY_LIMIT_MB); read the answers that wait, or try again later.")
            : error_reply(503, "The server's memory for messages is used up (MCP_MEMORY_LIMIT_MB); try again later.");
    return reply.with("Retry-After", "5");
}

// The part of the principal's memory that an arriving body takes.
struct body_share {
    explicit body_share(memory_budget::part& own) : from(own) {}
    body_share(const body_share&) = delete;
    body_share& operator=(const body_share&) = delete;
    ~body_share() { from.remove(held); }

    // False: memory is short.
    bool grow_to(std::size_t size)
    {
        if (size > small_body && from.exhausted()) return false;
        from.add(size - held);
        held = size;
        return true;
    }

    memory_budget::part& from;
    std::size_t held = 0;
};

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

// RFC 8259 section 8.1: a parser may read over the mark that some programs write in front.
bool is_json_body(const http_request& request)
{
    constexpr std::string_view json = "application/json";
    return equal_ignoring_case(request.header("content-type").value_or("").substr(0, json.size()), json);
}

void believe_member(http_request& into, const member_gateway& members)
{
    const auto& shown = into.certificate;
    if (!shown || !members.is_member(shown->name)) return;
    into.member = read_member_caller(into.header(member_caller_field).value_or(""));
    if (!into.member) return;
    into.address = into.member->address;
    into.secure = into.member->secure;
    into.forwarded_host = into.member->host;
}

}  // namespace

awaitable<request_reader::outcome> request_reader::next(http_request& into, http_reply& refusal)
{
    raw_header header(limits_.max_header_bytes);
    auto result = outcome::request;
    const auto looked = header.look(peer_.buffered());  // most headers arrive whole
    if (looked != raw_header::verdict::complete) result = co_await read_header(header, looked, refusal);
    if (result != outcome::request) co_return result;

    request_parser parser(limits_.max_header_bytes);
    auto progress = parser.put_header(peer_.buffered().substr(header.begin(), header.size() - header.begin()), into);
    peer_.buffer().consume(header.size());
    routes_.place(into);
    if (progress != parser_state::more && progress != parser_state::done) co_return refuse(refusal, progress, parser);
    note_client(into);
    const bool streams = into.target != nullptr && into.target->body == route_body::streamed;
    if (!streams && !parser.limit_body(most_of_body(into))) co_return refuse(refusal, parser_state::too_large, parser);

    auto refused = guard_.admit(into);
    if (into.login_pending) refused = co_await guard_.admit_when_known(into);
    if (auto nothing = refuse_where_nothing_is(into, refused)) refused = std::move(nothing);
    const auto memory = budget_.of(into.principal);
    if (!refused && memory->exhausted() && progress == parser_state::more && parser.announced() > small_body)
        refused = memory_short(*memory);
    // A client of HTTP/1.0 knows no interim answers (RFC 9110 section 10.1.1).
    bool expects = progress == parser_state::more && into.version > 10 && into.header("expect");
    if (refused) {
        refusal = std::move(*refused);
        refusal.close = refusal.close || !into.keep_alive || expects || parser.announced() > most_read_over;
        if (refusal.close || progress == parser_state::done) co_return outcome::refused;
    } else if (expects && !streams) {
        const bool sent = co_await peer_.write("HTTP/1.1 100 Continue\r\n\r\n");
        if (!sent) co_return outcome::closed;
    }
    if (streams && !refused) {
        peer_.clear_deadline();
        using state = body_stream::peer_state;
        const auto peer = progress == parser_state::done ? state::done : expects ? state::waits : state::sends;
        into.stream = std::make_shared<body_stream>(peer_, std::move(parser), limits_.body_timeout, peer);
        co_return outcome::request;
    }
    http_reply broken;
    if (progress == parser_state::more && peer_.buffer().size() != 0) progress = take_body(parser);
    if (progress != parser_state::done) result = co_await read_body(parser, progress, *memory, !refused, broken);
    peer_.clear_deadline();
    if (result == outcome::refused) refusal = std::move(broken);
    if (result == outcome::request && refused) result = outcome::refused;
    if (result == outcome::request) into.body = parser.take_body();
    if (is_json_body(into) && into.body.starts_with(byte_order_mark)) into.body.erase(0, byte_order_mark.size());
    co_return result;
}

// Routes that take JSON read a few members of it, but for calls.
std::size_t request_reader::most_of_body(const http_request& request) const
{
    const auto* to = request.target;
    const bool is_json = to != nullptr && (to->body == route_body::json || to->body == route_body::optional_json);
    return is_json && !to->takes_long_json ? std::min(limits_.max_body_bytes, jsonrpc::longest_on_loop)
                                           : limits_.max_body_bytes;
}

void request_reader::note_client(http_request& into)
{
    into.digests = &digests_;
    into.address = peer_.address();
    into.secure = peer_.is_secure();
    into.certificate = peer_.certificate();
    proxies_.believe(into);
    if (members_ != nullptr) believe_member(into, *members_);
}

// Neither a token nor another media type helps where there is nothing, so 404 and 405 come first.
std::optional<http_reply> request_reader::refuse_where_nothing_is(const http_request& request,
                                                                  const std::optional<http_reply>& refused) const
{
    const bool may_be_nothing = !refused || refused->status == 401 || refused->status == 415;
    return may_be_nothing ? routes_.refuse(request) : std::nullopt;
}

awaitable<bool> request_reader::wait()
{
    if (begun()) co_return true;
    peer_.release_large_buffer();
    peer_.set_deadline(first_ ? limits_.header_timeout : limits_.idle_timeout);
    first_ = false;
    idle_ = true;
    auto [error, size] = co_await peer_.read_first();
    idle_ = false;
    peer_.arrived(size);
    peer_.clear_deadline();
    co_return !error;
}

void request_reader::interrupt_if_idle()
{
    if (idle_) peer_.abort();
}

// A single deadline for the whole header, which a byte now and then does not move (slow loris).
awaitable<request_reader::outcome> request_reader::read_header(raw_header& header, raw_header::verdict verdict,
                                                               http_reply& refusal)
{
    for (bool waiting = false;; verdict = header.look(peer_.buffered()), waiting = true) {
        if (verdict == raw_header::verdict::refused) {
            peer_.clear_deadline();
            co_return refuse(refusal, header.status(), header.sentence());
        }
        if (verdict == raw_header::verdict::complete) break;
        if (!waiting) peer_.set_deadline(limits_.header_timeout);
        auto more = co_await peer_.read_some();
        if (more) continue;
        peer_.clear_deadline();
        if (peer_.timed_out() && peer_.buffer().size() != 0)
            co_return refuse(refusal, 408, "The header took too long to arrive.");
        co_return outcome::closed;
    }
    peer_.clear_deadline();
    co_return outcome::request;
}

parser_state request_reader::take_body(request_parser& parser)
{
    std::size_t used = 0;
    const auto progress = parser.put_body(peer_.buffered(), used);
    peer_.buffer().consume(used);
    return progress;
}

// A single deadline for the whole body as well.
awaitable<request_reader::outcome> request_reader::read_body(request_parser& parser, parser_state progress,
                                                             memory_budget::part& memory, bool keep,
                                                             http_reply& refusal)
{
    body_share held(memory);
    for (bool waiting = false;; progress = take_body(parser)) {
        if (progress == parser_state::done) co_return outcome::request;
        if (!held.grow_to(parser.body_size())) {
            refusal = memory_short(memory);
            refusal.close = true;
            co_return outcome::refused;
        }
        if (progress == parser_state::more && !keep && parser.body_size() > most_read_over)
            progress = parser_state::too_large;
        if (progress != parser_state::more) co_return refuse(refusal, progress, parser);
        // The parser leaves the beginning of a chunk header, and a header without an end would grow the buffer.
        if (peer_.buffer().size() > most_read_over) co_return refuse(refusal, 400, "A chunk header is too long.");
        if (!waiting) peer_.set_deadline(limits_.body_timeout);
        waiting = true;
        auto more = co_await peer_.read_some();
        if (more) continue;
        if (peer_.timed_out()) co_return refuse(refusal, 408, "The body took longer than HTTP_TIMEOUT.");
        co_return refuse(refusal, 400, "The body ended before its announced length.");
    }
}

request_reader::outcome request_reader::refuse(http_reply& refusal, parser_state progress,
                                               const request_parser& parser) const
{
    if (progress == parser_state::too_large)
        return refuse(refusal, 413,
                      parser.most() == jsonrpc::longest_on_loop
                          ? "The body is larger than the 64 KiB that this path takes."
                          : "The body is larger than HTTP_MAX_BODY_MB allows.");
    return refuse(refusal, 400, "The request is not valid HTTP/1.1: " + parser.why() + ".");
}

request_reader::outcome request_reader::refuse(http_reply& refusal, int status, std::string_view sentence) const
{
    refusal = error_reply(status, sentence);
    refusal.close = true;
    return outcome::refused;
}

}  // namespace cmcp
