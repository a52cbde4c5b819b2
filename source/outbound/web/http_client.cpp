#include "web/http_client.hpp"

#include "async/blocking_pool.hpp"
#include "async/with_deadline.hpp"
#include "egress/egress_connector.hpp"
#include "egress/tls_trust.hpp"
#include "prebuilt/version.hpp"
#include "streams/http_connection.hpp"
#include "text/ascii.hpp"
#include "text/header_parameter.hpp"
#include "web/content_decoder.hpp"

#include <boost/asio/ssl/error.hpp>
#include <boost/beast/http/error.hpp>

#include <algorithm>
#include <functional>
#include <optional>

namespace cmcp {

namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::uint32_t longest_header = 64 * 1024;
constexpr std::size_t piece_size = 64 * 1024;
constexpr std::uint64_t skipped_at_most = 64 * 1024;
constexpr std::uint64_t longest_reserved = 64 << 20;
constexpr std::size_t longest_shown = 200;
constexpr std::uint64_t usual_header = 300;  // of a request and its answer together
constexpr std::size_t most_idle = 32;
constexpr std::chrono::seconds longest_idle(20);
constexpr auto between_reports = std::chrono::seconds(1);

/// A call of http_client::get: its deadline, the phase it is in, and the answer as it grows.
class fetch {
public:
    using trust_finder = std::function<awaitable<std::shared_ptr<boost::asio::ssl::context>>()>;

    fetch(std::shared_ptr<idle_connections> connections, trust_finder trust, blocking_pool* unpacking,
          std::shared_ptr<egress_ticket> ticket, fetch_request request)
        : idle_(std::move(connections)),
          find_trust_(std::move(trust)),
          unpacking_(unpacking),
          ticket_(std::move(ticket)),
          request_(std::move(request)),
          at_(request_.url),
          piece_(piece_size)
    {
    }

    awaitable<fetch_reply> run();

private:
    awaitable<> follow_all();
    awaitable<bool> one_request();  ///< false: the connection was stale, no answer came
    awaitable<> open();
    awaitable<> secure();
    awaitable<> read_answer();
    awaitable<> skip_body();
    awaitable<> read_body();
    awaitable<> begin_receiver(bool as_it_is);  ///< not packed
    awaitable<> hand_over();
    awaitable<> unpack(std::shared_ptr<content_decoder> by);
    awaitable<error_code> read_piece();

    http_connection::request make_request() const;
    void add_body(http_connection::request& to) const;
    void enter(std::string phase, std::string detail);
    bool is_redirect() const;
    void redirect();
    void take_cookies();
    std::string chain() const;  ///< the addresses of the last redirects, for the caller
    bool only_head() const { return request_.method == "HEAD"; }  ///< RFC 9110 section 9.3.2: the answer has no body
    void read_head();
    void check_length() const;
    void keep_connection();
    [[noreturn]] void fail(const error_code& failure) const;
    void report_bytes();
    void charge(std::uint64_t bytes);

    std::shared_ptr<idle_connections> idle_;
    trust_finder find_trust_;
    blocking_pool* unpacking_;  ///< null: nothing is unpacked
    std::shared_ptr<egress_ticket> ticket_;
    fetch_request request_;
    fetch_reply reply_;
    web_url at_;
    std::vector<std::string> left_;  ///< addresses that redirected
    std::unique_ptr<http_connection> connection_;
    std::optional<http_connection::parser> parser_;
    std::vector<char> piece_;
    std::size_t piece_length_ = 0;
    bool is_cut_ = false;  ///< the server did not take the whole request
    std::string phase_ = "resolving";
    std::uint64_t expected_ = 0;
    std::chrono::steady_clock::time_point last_report_;
};

awaitable<fetch_reply> fetch::run()
{
    try {
        co_await with_deadline(follow_all(), request_.timeout);
    } catch (const deadline_exceeded&) {
        throw fetch_timeout(phase_, at_.who.text(), reply_.received, request_.timeout, request_.timeout_setting);
    } catch (const egress_error& refusal) {
        throw fetch_error(refusal);
    }
    reply_.cookies = std::move(request_.cookies);
    co_return std::move(reply_);
}

awaitable<> fetch::follow_all()
{
    for (;;) {
        const bool answered = co_await one_request();
        if (!answered) co_await one_request();  // the second one is a new connection
        if (!is_redirect()) co_return;
        redirect();
    }
}

awaitable<bool> fetch::one_request()
{
    co_await open();
    enter("waiting", "waiting for " + at_.who.text());
    const auto request = make_request();
    charge(at_.target.size() + request.body().size() + usual_header);
    auto failure = co_await connection_->write(request);
    // A server may refuse a body before it has read all of it, and close.
    is_cut_ = failure && failure != asio::error::operation_aborted;
    if (is_cut_) failure = {};
    do {  // answers 1xx come before the final one
        parser_.emplace();
        parser_->header_limit(longest_header);
        parser_->body_limit(boost::none);
        parser_->skip(only_head());
        if (!failure) failure = co_await connection_->read_header(*parser_);
    } while (!failure && parser_->get().result_int() / 100 == 1 && parser_->get().result_int() != 101);
    const bool nothing_came = failure && !parser_->got_some();
    if (nothing_came && connection_->used_before && request_.may_repeat && failure != asio::error::operation_aborted)
        co_return false;
    if (failure) fail(failure);
    co_await read_answer();
    co_return true;
}

awaitable<> fetch::open()
{
    co_await egress_require(ticket_, at_.who, at_.port);
    connection_ = idle_->take(at_.origin(), ticket_->policy().get());
    if (connection_) {
        egress_audit(*ticket_, at_.who, at_.port, "allowed", "open connection", {});
        co_return;
    }
    const auto entered = [this](std::string step, std::string detail) { enter(std::move(step), std::move(detail)); };
    auto connection = co_await egress_connect(ticket_, at_.who, at_.port, entered);
    const auto shared_socket = std::make_shared<egress_socket>(std::move(connection));
    connection_ = std::make_unique<http_connection>(shared_socket->socket, shared_socket);
    if (at_.secure) co_await secure();
}

awaitable<> fetch::secure()
{
    enter("TLS", "securing the connection");
    auto finding = find_trust_();
    const auto trust = co_await std::move(finding);
    auto& stream = connection_->stream();
    const auto failure = co_await cmcp::secure(stream, *trust, at_.who.name, at_.who.address.has_value());
    if (failure == asio::error::operation_aborted) throw boost::system::system_error(failure);
    if (failure)
        throw fetch_error(
            "tls", "No secure connection to " + at_.who.text() + ": " + handshake_problem(stream.tls(), failure) + ".");
}

http_connection::request fetch::make_request() const
{
    http_connection::request request(http::verb::get, at_.target, 11);
    request.set(http::field::host, at_.authority());
    request.set(http::field::user_agent, "container-mcp/" CMCP_VERSION);
    request.set(http::field::accept, request_.accept);
    request.set(http::field::accept_encoding,
                request_.receiver != nullptr || unpacking_ == nullptr ? "identity" : "gzip, deflate, br, zstd");
    request.set(http::field::accept_language, "en, *;q=0.5");
    // A key for one server is not shown to another that it redirects to.
    if (at_.origin() == request_.url.origin())
        for (const auto& [name, value] : request_.headers) request.set(name, value);
    if (const auto cookies = request_.cookies.header_for(at_, cookie_jar::clock::now()); !cookies.empty())
        request.set(http::field::cookie, cookies);
    add_body(request);
    return request;
}

void fetch::add_body(http_connection::request& to) const
{
    to.method_string(request_.form.empty() ? request_.method : "POST");
    if (to.method() != http::verb::post && to.method() != http::verb::put) return;
    to.set(http::field::content_type, request_.form.empty() ? request_.body_type : "application/x-www-form-urlencoded");
    to.body() = request_.form.empty() ? request_.body : request_.form;
    to.prepare_payload();
}

void fetch::read_head()
{
    const auto& head = parser_->get();
    const std::string_view type = head[http::field::content_type];
    reply_.url = at_;
    reply_.status = head.result_int();
    reply_.status_text = std::string(head.reason());
    if (reply_.status_text.empty()) reply_.status_text = std::string(http::obsolete_reason(head.result()));
    reply_.type = lower_case(trimmed(type.substr(0, type.find(';')), " \t\""));
    reply_.charset = header_parameter(type, "charset").value_or("");
    reply_.etag = std::string(head[http::field::etag]);
    if (!request_.extra_header.empty()) reply_.extra_value = std::string(head[request_.extra_header]);
}

bool fetch::is_redirect() const
{
    const auto status = parser_->get().result_int();
    const bool moved = status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
    return moved && parser_->get().find(http::field::location) != parser_->get().end();
}

void fetch::redirect()
{
    const std::string location(parser_->get()[http::field::location]);
    if (request_.method == "PUT" || request_.method == "POST" || request_.method == "DELETE")
        throw fetch_error("bad_redirect",
                          at_.origin() + " redirects a " + request_.method + ", which goes nowhere else.");
    left_.push_back(at_.text().substr(0, longest_shown));
    if (++reply_.redirects > request_.max_redirects)
        throw fetch_error("too_many_redirects", "Too many redirects: more than " +
                                                    std::to_string(request_.max_redirects) + ", the last ones " +
                                                    chain() + " → " + location.substr(0, longest_shown) + ".");
    try {
        const std::string fragment = at_.fragment;
        at_ = at_.follow(location);
        if (at_.fragment.empty()) at_.fragment = fragment;
    } catch (const bad_url& problem) {
        throw fetch_error("bad_redirect",
                          at_.origin() + " redirects to an address that cannot be fetched. " + problem.what());
    }
    enter("redirect", "redirected to " + at_.origin());
}

// The last four tell a loop from a long way.
std::string fetch::chain() const
{
    std::string text;
    for (std::size_t i = left_.size() - std::min<std::size_t>(4, left_.size()); i < left_.size(); ++i)
        text += (text.empty() ? "" : " → ") + left_[i];
    return text;
}

void fetch::take_cookies()
{
    const auto [first, last] = parser_->get().equal_range(http::field::set_cookie);
    for (auto one = first; one != last; ++one) request_.cookies.take(at_, one->value(), cookie_jar::clock::now());
}

awaitable<> fetch::read_answer()
{
    read_head();
    take_cookies();
    if (is_redirect()) {
        co_await skip_body();
        co_return;
    }
    if (request_.check) request_.check(reply_);
    if (only_head()) {
        keep_connection();
        co_return;
    }
    check_length();
    enter("reading", "receiving");
    co_await read_body();
}

// A piece may have come although the connection failed after it.
awaitable<error_code> fetch::read_piece()
{
    const auto got = co_await connection_->read_body(*parser_, asio::buffer(piece_));
    piece_length_ = got.size;
    co_return got.failure;
}

void fetch::keep_connection()
{
    if (!is_cut_ && parser_->is_done() && parser_->keep_alive())
        idle_->give_back(at_.origin(), std::move(connection_), ticket_->policy());
}

// A redirect's body is read only to keep the connection.
awaitable<> fetch::skip_body()
{
    std::uint64_t skipped = 0;
    while (!parser_->is_done() && !parser_->need_eof() && skipped < skipped_at_most) {
        const auto failure = co_await read_piece();
        if (failure) co_return;
        skipped += piece_length_;
        charge(piece_length_);
    }
    keep_connection();
}

void fetch::check_length() const
{
    const auto length = parser_->content_length();
    if (request_.receiver == nullptr && length && *length > request_.max_bytes)
        throw fetch_error("too_large", "The page is too large: " + at_.origin() + " announces " +
                                           std::to_string(*length) + " bytes, more than the " +
                                           std::to_string(request_.max_bytes >> 20) +
                                           " MiB that WEB_MAX_SIZE_MB allows.");
}

awaitable<> fetch::read_body()
{
    expected_ = parser_->content_length().value_or(0);
    const std::string_view encoding = parser_->get()[http::field::content_encoding];
    const auto decoder = std::make_shared<content_decoder>(encoding);
    if (decoder->unpacks() && unpacking_ == nullptr)
        throw fetch_error("bad_encoding", at_.origin() + " sent packed data (Content-Encoding \"" +
                                              std::string(encoding.substr(0, 40)) + "\"), which was not asked for.");
    if (request_.receiver != nullptr) co_await begin_receiver(encoding.empty());
    // A long body that is copied each time its room doubles would hold the loop.
    const bool is_stored = request_.receiver == nullptr && !decoder->unpacks();
    if (is_stored) reply_.body.reserve(std::min({expected_, request_.max_bytes, longest_reserved}));
    while (!parser_->is_done()) {
        const auto failure = co_await read_piece();
        const bool cut_by_tls = failure == asio::ssl::error::stream_truncated && parser_->need_eof();
        reply_.received += piece_length_;
        charge(piece_length_);
        if (decoder->unpacks())
            co_await unpack(decoder);
        else
            decoder->decode({piece_.data(), piece_length_}, reply_.body, request_.max_bytes);
        if (request_.receiver != nullptr) co_await hand_over();
        report_bytes();
        if (cut_by_tls) break;  // many servers end without a TLS closure
        if (failure) fail(failure);
    }
    decoder->finish();
    keep_connection();
}

// The work may outlive this where the fetch is cancelled, so it has all that it uses.
awaitable<> fetch::unpack(std::shared_ptr<content_decoder> by)
{
    auto body = std::make_shared<std::string>(std::move(reply_.body));
    auto work = [by, body, piece = std::string(piece_.data(), piece_length_), limit = request_.max_bytes] {
        by->decode(piece, *body, limit);
    };
    co_await unpacking_->run(ticket_->principal(), std::move(work));
    reply_.body = std::move(*body);
}

awaitable<> fetch::begin_receiver(bool as_it_is)
{
    std::optional<std::uint64_t> length;
    if (as_it_is && parser_->content_length()) length = *parser_->content_length();
    const fetch_head& beginning = reply_;
    fetch_head head = beginning;
    co_await request_.receiver->begin(std::move(head), length);
}

awaitable<> fetch::hand_over()
{
    if (!reply_.body.empty()) co_await request_.receiver->receive(reply_.body);
    reply_.body.clear();
}

void fetch::enter(std::string phase, std::string detail)
{
    phase_ = std::move(phase);
    if (request_.progress) request_.progress(std::move(detail));
}

void fetch::report_bytes()
{
    const auto now = std::chrono::steady_clock::now();
    if (!request_.progress || reply_.received < 1024 || now - last_report_ < between_reports) return;
    last_report_ = now;
    request_.progress("received " + std::to_string(reply_.received >> 10) + " KiB" +
                      (expected_ != 0 ? " of " + std::to_string(expected_ >> 10) + " KiB" : ""));
}

// Others count for themselves what they fetch, or have no limit in bytes.
void fetch::charge(std::uint64_t bytes)
{
    if (!ticket_->is_within_another() || ticket_->count(bytes)) return;
    ticket_->add_refusal({at_.who.name, at_.port, "bytes", ticket_->refusal_of_bytes()});
    throw fetch_error("bytes", ticket_->refusal_of_bytes());
}

void fetch::fail(const error_code& failure) const
{
    if (failure == asio::error::operation_aborted) throw boost::system::system_error(failure);
    throw bad_answer(failure, at_.origin(), parser_->is_header_done(), reply_.received, expected_);
}

}  // namespace

http_client::http_client(asio::any_io_executor executor, std::filesystem::path extra_ca, std::string_view setting)
    : extra_ca_(std::move(extra_ca)),
      setting_(setting),
      connections_(std::make_shared<idle_connections>(executor, most_idle, longest_idle))
{
    if (!extra_ca_.empty()) trust_ = shared_client_context(extra_ca_, setting_);  // a bad file stops the start
}

http_client::~http_client() { connections_->clear(); }

// Where there is no file, the machine's authorities are read at the first use: most servers have none.
awaitable<std::shared_ptr<boost::asio::ssl::context>> http_client::trust()
{
    if (trust_) co_return trust_;
    auto file = extra_ca_;
    auto setting = setting_;
    trust_ = co_await find_client_context(std::move(file), std::move(setting));
    co_return trust_;
}

awaitable<fetch_reply> http_client::get(std::shared_ptr<egress_ticket> ticket, fetch_request request)
{
    fetch one(connections_, std::bind_front(&http_client::trust, this), pool_, std::move(ticket), std::move(request));
    auto reply = co_await one.run();
    co_return reply;
}

}  // namespace cmcp
