#include "telemetry/otlp_exporter.hpp"

#include "async/with_deadline.hpp"
#include "config/settings.hpp"
#include "egress/resolver.hpp"
#include "egress/tls_trust.hpp"
#include "jsonrpc/write_json.hpp"
#include "log/log.hpp"
#include "metrics/span_queue.hpp"
#include "telemetry/otlp_message.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/url/pct_string_view.hpp>

#include <sstream>
#include <string_view>
#include <utility>

namespace cmcp {

namespace {

namespace http = boost::beast::http;
using request = http::request<http::string_body>;

constexpr std::chrono::seconds between(1);
constexpr std::chrono::seconds time_to_answer(10);
constexpr std::chrono::seconds time_to_finish(2);
constexpr std::size_t most_in_one = 512;

// The sentence does not show the entry, because it may hold a secret.
[[noreturn]] void refuse_header(std::size_t number)
{
    throw config_error("OTEL_EXPORTER_OTLP_HEADERS: entry " + std::to_string(number) +
                       " is no name=value with a percent-encoded value; write for example x-token=abc,x-team=one");
}

std::pair<std::string, std::string> read_header(const std::string& entry, std::size_t number)
{
    const auto sign = entry.find('=');
    if (sign == std::string::npos || sign == 0) refuse_header(number);
    const std::string name = entry.substr(0, sign);
    const auto encoded = boost::urls::make_pct_string_view(std::string_view(entry).substr(sign + 1));
    const bool plain = name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
                       std::string::npos;
    if (!plain || encoded.has_error()) refuse_header(number);
    const std::string value = encoded->decode();
    if (value.find_first_of(std::string("\r\n\0", 3)) != std::string::npos) refuse_header(number);
    return {name, value};
}

std::string traces_path(const web_url& endpoint)
{
    std::string path = endpoint.target.substr(0, endpoint.target.find('?'));
    while (path.ends_with('/')) path.pop_back();
    return path + "/v1/traces";
}

request make_request(const otlp_target& target, std::string body)
{
    request message(http::verb::post, traces_path(target.endpoint), 11);
    message.set(http::field::host, target.endpoint.authority());
    message.set(http::field::content_type, "application/json");
    message.set(http::field::user_agent, "container-mcp/" CMCP_VERSION);
    message.set(http::field::connection, "close");
    for (const auto& [name, value] : target.headers) message.set(name, value);
    message.body() = std::move(body);
    message.prepare_payload();
    return message;
}

// The status of the answer.
template <class Stream>
awaitable<unsigned> exchange_over(Stream& stream, const request& what)
{
    co_await http::async_write(stream, what, asio::use_awaitable);
    boost::beast::flat_buffer buffer;
    http::response_parser<http::string_body> answer;
    answer.body_limit(64 * 1024);
    co_await http::async_read_header(stream, buffer, answer, asio::use_awaitable);
    co_return answer.get().result_int();
}

awaitable<std::vector<asio::ip::tcp::endpoint>> places_of(const web_url& endpoint)
{
    std::vector<asio::ip::address> addresses;
    if (endpoint.who.address)
        addresses.push_back(*endpoint.who.address);
    else
        addresses = co_await resolve(endpoint.who.name);
    std::vector<asio::ip::tcp::endpoint> places;
    for (const auto& address : addresses) places.emplace_back(address, endpoint.port);
    co_return places;
}

awaitable<unsigned> deliver(const otlp_target& target, boost::asio::ssl::context& trust, const request& what)
{
    const auto places = co_await places_of(target.endpoint);
    auto executor = co_await asio::this_coro::executor;
    asio::ip::tcp::socket socket(executor);
    co_await asio::async_connect(socket, places, asio::use_awaitable);
    unsigned status = 0;
    if (!target.endpoint.secure) {
        status = co_await exchange_over(socket, what);
        co_return status;
    }
    boost::asio::ssl::stream<asio::ip::tcp::socket&> secure(socket, trust);
    expect_host(secure.native_handle(), target.endpoint.who.name, target.endpoint.who.address.has_value());
    co_await secure.async_handshake(boost::asio::ssl::stream_base::client, asio::use_awaitable);
    status = co_await exchange_over(secure, what);
    co_return status;
}

}  // namespace

otlp_target otlp_target::read(const std::string& endpoint, const std::string& service, const std::string& headers)
{
    otlp_target target;
    try {
        target.endpoint = web_url::parse(endpoint);
    } catch (const bad_url& reason) {
        throw config_error("OTEL_EXPORTER_OTLP_ENDPOINT: " + std::string(reason.what()));
    }
    target.service = service;
    std::istringstream in(headers);
    for (std::string entry; std::getline(in, entry, ',');)
        if (!entry.empty()) target.headers.push_back(read_header(entry, target.headers.size() + 1));
    return target;
}

otlp_exporter::otlp_exporter(otlp_target target) : target_(std::move(target)), trust_(make_client_context({}))
{
    metrics::spans().open();
}

awaitable<> otlp_exporter::run()
{
    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer pause(executor);
    for (;;) {
        pause.expires_after(between);
        co_await pause.async_wait(asio::use_awaitable);
        bool more = true;
        while (more) more = co_await send_some();
    }
}

awaitable<> otlp_exporter::finish()
{
    try {
        bool more = true;
        const auto until = std::chrono::steady_clock::now() + time_to_finish;
        while (more && std::chrono::steady_clock::now() < until) {
            auto sent = send_some();
            more = co_await with_deadline(std::move(sent), time_to_finish);
        }
    } catch (const deadline_exceeded&) {
        tell("no answer before the end");
    }
    metrics::spans().close();
}

awaitable<bool> otlp_exporter::send_some()
{
    if (unsent_.empty()) unsent_ = metrics::spans().take(most_in_one);
    if (unsent_.empty()) co_return false;
    std::string problem = co_await post(jsonrpc::write_json(otlp_message(target_.service, unsent_)));
    tell(problem);
    if (problem.empty()) unsent_.clear();
    co_return problem.empty() && metrics::spans().size() != 0;
}

awaitable<std::string> otlp_exporter::post(std::string body)
{
    const request what = make_request(target_, std::move(body));
    std::string problem;
    try {
        auto work = deliver(target_, trust_, what);
        const unsigned status = co_await with_deadline(std::move(work), time_to_answer);
        if (status == 400 || status == 413)
            log::warning("spans_refused", {{"status", status}});  // sent again they would be so again
        else if (status / 100 != 2)
            problem = "it answers with status " + std::to_string(status);
    } catch (const deadline_exceeded&) {
        problem = "it does not answer";
    } catch (const resolve_error& reason) {
        problem = reason.what();
    } catch (const boost::system::system_error& failure) {
        if (failure.code() == asio::error::operation_aborted) throw;
        problem = failure.code().message();
    }
    co_return problem;
}

void otlp_exporter::tell(const std::string& problem)
{
    if (problem.empty() == !failing_) return;
    failing_ = !problem.empty();
    const json::string where(target_.endpoint.origin());
    if (failing_)
        log::warning("spans_wait", {{"collector", where}, {"reason", json::string(problem)}});
    else
        log::info("spans_go_again", {{"collector", where}, {"dropped", metrics::spans().dropped()}});
}

}  // namespace cmcp
