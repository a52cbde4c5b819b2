#include "telemetry/otlp_exporter.hpp"

#include "async/with_deadline.hpp"
#include "config/config_error.hpp"
#include "config/telemetry_settings.hpp"
#include "egress/reach.hpp"
#include "egress/tls_trust.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "log/log.hpp"
#include "log/record_queue.hpp"
#include "metrics/registry.hpp"
#include "metrics/span_queue.hpp"
#include "prebuilt/version.hpp"
#include "streams/http_connection.hpp"
#include "telemetry/otlp_message.hpp"
#include "text/number.hpp"
#include "text/random_id.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/url/pct_string_view.hpp>

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <utility>

namespace cmcp {

namespace {

namespace http = boost::beast::http;
using request = http_connection::request;

constexpr std::chrono::seconds between(1);
constexpr std::chrono::seconds time_to_answer(10);
constexpr std::chrono::seconds time_to_finish(2);
constexpr std::size_t most_in_one = 512;

// The sentence does not show the entry, because it may hold a secret.
[[noreturn]] void refuse_pair(const char* setting, std::size_t number)
{
    throw config_error(std::string(setting) + ": entry " + std::to_string(number) +
                       " is no name=value with a percent-encoded value; write for example x-token=abc,x-team=one");
}

std::pair<std::string, std::string> read_pair(const char* setting, const std::string& entry, std::size_t number)
{
    const auto sign = entry.find('=');
    if (sign == std::string::npos || sign == 0) refuse_pair(setting, number);
    const std::string name = entry.substr(0, sign);
    const auto encoded = boost::urls::make_pct_string_view(std::string_view(entry).substr(sign + 1));
    const bool plain = name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
                       std::string::npos;
    if (!plain || encoded.has_error()) refuse_pair(setting, number);
    const std::string value = encoded->decode();
    if (value.find_first_of(std::string("\r\n\0", 3)) != std::string::npos) refuse_pair(setting, number);
    return {name, value};
}

std::vector<std::pair<std::string, std::string>> read_pairs(const char* setting, const std::string& text)
{
    std::vector<std::pair<std::string, std::string>> pairs;
    std::istringstream in(text);
    for (std::string entry; std::getline(in, entry, ',');)
        if (!entry.empty()) pairs.push_back(read_pair(setting, entry, pairs.size() + 1));
    return pairs;
}

// As the conventions for resources name them; those of the setting go before ours.
otlp_resource resource_of(const telemetry_settings& config)
{
    std::array<char, HOST_NAME_MAX + 1> host{};
    ::gethostname(host.data(), host.size() - 1);
    otlp_resource all = read_pairs("OTEL_RESOURCE_ATTRIBUTES", config.otel_resource);
    const otlp_resource own{{"service.name", config.otel_service},
                            {"service.version", CMCP_VERSION},
                            {"service.instance.id", random_id(16)},
                            {"host.name", host.data()},
                            {"process.pid", std::to_string(::getpid())}};
    for (const auto& each : own)
        if (std::ranges::find(all, each.first, &otlp_resource::value_type::first) == all.end()) all.push_back(each);
    return all;
}

std::string path_below(const web_url& endpoint, const char* path)
{
    std::string whole = endpoint.target.substr(0, endpoint.target.find('?'));
    while (whole.ends_with('/')) whole.pop_back();
    return whole + path;
}

request make_request(const otlp_target& target, const char* path, std::string body)
{
    request message(http::verb::post, path_below(target.endpoint, path), 11);
    message.set(http::field::host, target.endpoint.authority());
    message.set(http::field::content_type, "application/json");
    message.set(http::field::user_agent, "container-mcp/" CMCP_VERSION);
    message.set(http::field::connection, "close");
    for (const auto& [name, value] : target.headers) message.set(name, value);
    message.body() = std::move(body);
    message.prepare_payload();
    return message;
}

using response = http::response<http::string_body>;

void check(const boost::system::error_code& failure)
{
    if (failure) throw boost::system::system_error(failure);
}

// A collector is asked once a second at most, so each request has a connection of its own.
awaitable<response> deliver(const otlp_target& target, boost::asio::ssl::context* trust, const request& what)
{
    const auto& who = target.endpoint.who;
    auto socket = co_await reach(who.name, target.endpoint.port, time_to_answer);
    http_connection connection(std::move(socket));
    if (target.endpoint.secure) {
        const auto failure = co_await secure(connection.stream(), *trust, who.name, who.address.has_value());
        check(failure);
    }
    http_connection::whole_parser answer;
    answer.body_limit(64 * 1024);
    const auto failure = co_await connection.ask(what, answer);
    check(failure);
    co_return answer.release();
}

// Items that the collector did not want, of ExportTracePartialSuccess and ExportLogsPartialSuccess. Numbers of 64 bits
// are texts in JSON.
std::uint64_t rejected_in(const std::string& body)
{
    const auto answer = jsonrpc::read_object(body);
    const auto& partial = object_of(answer, "partialSuccess");
    for (const char* name : {"rejectedSpans", "rejectedLogRecords"}) {
        const auto text = read_number<std::uint64_t>(view_of(partial, name));
        const auto number =
            text.value_or(static_cast<std::uint64_t>(std::max<std::int64_t>(0, number_of(partial, name))));
        if (number > 0) return number;
    }
    return 0;
}

}  // namespace

otlp_target otlp_target::read(const telemetry_settings& config)
{
    otlp_target target;
    try {
        target.endpoint = web_url::parse(config.otlp_endpoint);
    } catch (const bad_url& reason) {
        throw config_error("OTEL_EXPORTER_OTLP_ENDPOINT: " + std::string(reason.what()));
    }
    target.resource = resource_of(config);
    target.headers = read_pairs("OTEL_EXPORTER_OTLP_HEADERS", config.otlp_headers);
    return target;
}

otlp_exporter::otlp_exporter(otlp_target target, bool with_logs)
    : target_(std::move(target)), trust_(target_.endpoint.secure ? shared_client_context({}, "WEB_CA_FILE") : nullptr)
{
    metrics::spans().open();
    signals_.push_back(span_signal());
    if (!with_logs) return;
    log::records().open();
    signals_.push_back(log_signal());
}

otlp_exporter::signal otlp_exporter::span_signal()
{
    auto take = [this] {
        const auto spans = metrics::spans().take(most_in_one);
        return batch{spans.empty() ? "" : jsonrpc::write_json(otlp_traces(target_.resource, spans)), spans.size()};
    };
    return {"spans",
            "/v1/traces",
            take,
            [] { return metrics::spans().size(); },
            [] { return metrics::spans().dropped(); },
            [] { metrics::spans().close(); }};
}

otlp_exporter::signal otlp_exporter::log_signal()
{
    auto take = [this] {
        const auto records = log::records().take(most_in_one);
        return batch{records.empty() ? "" : jsonrpc::write_json(otlp_logs(target_.resource, records)), records.size()};
    };
    return {"logs",
            "/v1/logs",
            take,
            [] { return log::records().size(); },
            [] { return log::records().dropped(); },
            [] { log::records().close(); }};
}

awaitable<> otlp_exporter::run()
{
    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer pause(executor);
    for (;;) {
        pause.expires_after(between);
        co_await pause.async_wait(asio::use_awaitable);
        for (auto& each : signals_) {
            bool more = true;
            while (more) more = co_await send_some(each);
        }
    }
}

awaitable<> otlp_exporter::finish()
{
    const auto until = std::chrono::steady_clock::now() + time_to_finish;
    for (auto& each : signals_) {
        try {
            bool more = true;
            while (more && std::chrono::steady_clock::now() < until) {
                auto sent = send_some(each);
                more = co_await with_deadline(std::move(sent), until - std::chrono::steady_clock::now());
            }
        } catch (const deadline_exceeded&) {
            tell(each, "no answer before the end");
        }
    }
    for (auto& each : signals_) each.close();
}

awaitable<bool> otlp_exporter::send_some(signal& of)
{
    if (of.off) co_return false;
    if (of.unsent.items == 0) of.unsent = of.take();
    if (of.unsent.items == 0) co_return false;
    const reply answer = co_await post(of);
    settle(of, answer);
    co_return answer.problem.empty() && !of.off && of.waiting() != 0;
}

// A batch that was refused for its content would be so again.
void otlp_exporter::settle(signal& of, const reply& answer)
{
    const auto items = of.unsent.items;
    const bool unwanted = answer.status == 400 || answer.status == 413;
    if (of.name == std::string_view("logs") && (answer.status == 404 || answer.status == 501)) {
        log::warning("logs_not_exported",
                     {{"advice", "the collector takes no logs (" + std::to_string(answer.status) +
                                     "): give it a pipeline for them, or set OTEL_LOGS_EXPORTER=none"}});
        of.off = true;
        of.close();
    }
    if (unwanted) log::warning("export_refused", {{"signal", of.name}, {"status", answer.status}});
    if (answer.rejected > 0) log::warning("export_refused", {{"signal", of.name}, {"rejected", answer.rejected}});
    of.refused += unwanted || of.off ? items : answer.rejected;
    const bool done = answer.problem.empty() || of.off;
    count(of, done && !unwanted && !of.off ? items : 0, !answer.problem.empty());
    if (done) of.unsent = {};
    if (!of.off) tell(of, answer.problem);
}

void otlp_exporter::count(const signal& of, std::size_t sent, bool failed)
{
    static auto& all_sent = metrics::all().counters("cmcp_otlp_sent_total",
                                                    "Spans and log records that a collector has taken.", {"signal"});
    static auto& failures = metrics::all().counters("cmcp_otlp_failures_total",
                                                    "Batches that a collector did not take at once.", {"signal"});
    static auto& lost = metrics::all().counters(
        "cmcp_otlp_dropped_total", "Spans and log records that were lost: the queue was full, or they were refused.",
        {"signal"});
    all_sent.at({of.name}).add(static_cast<double>(sent));
    failures.at({of.name}).add(failed ? 1 : 0);
    lost.at({of.name}).set(static_cast<double>(of.dropped() + of.refused));
}

awaitable<otlp_exporter::reply> otlp_exporter::post(const signal& of)
{
    const request what = make_request(target_, of.path, of.unsent.body);
    reply answer;
    try {
        auto work = deliver(target_, trust_.get(), what);
        const response said = co_await with_deadline(std::move(work), time_to_answer);
        answer.status = said.result_int();
        if (answer.status / 100 == 2)
            answer.rejected = rejected_in(said.body());
        else if (answer.status != 400 && answer.status != 413)
            answer.problem = "it answers with status " + std::to_string(answer.status);
    } catch (const deadline_exceeded&) {
        answer.problem = "it does not answer";
    } catch (const unreachable_server& reason) {
        answer.problem = reason.what();
    } catch (const boost::system::system_error& failure) {
        if (failure.code() == asio::error::operation_aborted) throw;
        answer.problem = failure.code().message();
    }
    co_return answer;
}

void otlp_exporter::tell(signal& of, const std::string& problem)
{
    if (problem.empty() == !of.failing) return;
    of.failing = !problem.empty();
    const json::string where(target_.endpoint.origin());
    if (of.failing)
        log::warning("export_waits", {{"signal", of.name}, {"collector", where}, {"reason", json::string(problem)}});
    else
        log::info("export_goes_again", {{"signal", of.name}, {"collector", where}, {"dropped", of.dropped()}});
}

}  // namespace cmcp
