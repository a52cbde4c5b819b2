#include "telemetry/otlp_exporter.hpp"
#include "telemetry/otlp_message.hpp"

#include "async/task_group.hpp"
#include "config/settings.hpp"
#include "log/record_queue.hpp"
#include "metrics/span_queue.hpp"
#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include <unistd.h>

#include <map>
#include <thread>

using namespace cmcp;

namespace {

namespace http = boost::beast::http;
using request = http::request<http::string_body>;
using tcp = asio::ip::tcp;

metrics::span named(std::string name)
{
    metrics::span span;
    span.name = std::move(name);
    span.began = std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000));
    span.took = std::chrono::milliseconds(5);
    return span;
}

otlp_target target_at(const std::string& url, const std::string& headers = {}, const std::string& resource = {})
{
    settings config;
    config.otlp_endpoint = url;
    config.otlp_headers = headers;
    config.otel_resource = resource;
    config.otel_service = "here";
    return otlp_target::read(config);
}

/// A collector on loopback that keeps the requests and answers with the next of `statuses`; the last one repeats.
struct collector {
    explicit collector(asio::io_context& io) : listens(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)), news(io)
    {
    }

    std::string url() const { return "http://127.0.0.1:" + std::to_string(listens.local_endpoint().port()); }

    awaitable<> serve()
    {
        for (;;) {
            tcp::socket peer = co_await listens.async_accept(asio::use_awaitable);
            boost::beast::flat_buffer buffer;
            request post;
            co_await http::async_read(peer, buffer, post, asio::use_awaitable);
            http::response<http::string_body> answer(statuses.front(), 11);
            if (statuses.size() > 1) statuses.erase(statuses.begin());
            answer.prepare_payload();
            co_await http::async_write(peer, answer, asio::use_awaitable);
            got.push_back(std::move(post));
            news.cancel();
        }
    }

    awaitable<> until(std::size_t count)
    {
        while (got.size() < count) {
            news.expires_at(asio::steady_timer::time_point::max());
            co_await news.async_wait(as_tuple);
        }
    }

    tcp::acceptor listens;
    asio::steady_timer news;
    std::vector<http::status> statuses{http::status::ok};
    std::vector<request> got;
};

const json::object& span_in(const json::value& message, std::size_t index)
{
    return message.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans").at(index).as_object();
}

}  // namespace

TEST_CASE("a span in OTLP's JSON has ids in hex, times in nanoseconds and its attributes")
{
    metrics::span child = named("tools/call x");
    child.parent = {"4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", true};
    child.attributes = {{"mcp.method.name", "tools/call"}};
    child.error = "tool_error";
    const json::value message = otlp_traces({{"service.name", "here"}}, {child, named("ping")});
    const auto& resource = message.at("resourceSpans").at(0).at("resource").at("attributes").at(0);
    CHECK(json::serialize(resource) == R"({"key":"service.name","value":{"stringValue":"here"}})");
    const json::object& first = span_in(message, 0);
    CHECK(first.at("traceId") == "4bf92f3577b34da6a3ce929d0e0e4736");
    CHECK(first.at("parentSpanId") == "00f067aa0ba902b7");
    CHECK(first.at("kind") == 2);
    CHECK(first.at("startTimeUnixNano") == "1700000000000000000");
    CHECK(first.at("endTimeUnixNano") == "1700000000005000000");
    CHECK(first.at("status").at("code") == 2);
    CHECK(first.at("attributes").as_array().size() == 2);
    const json::object& second = span_in(message, 1);
    CHECK(second.at("traceId").as_string().size() == 32);
    CHECK(second.at("spanId").as_string().size() == 16);
    CHECK(second.at("spanId") != first.at("spanId"));
    CHECK_FALSE(second.contains("parentSpanId"));
    CHECK(second.at("status").as_object().empty());
}

TEST_CASE("spans are posted to the collector with the headers that were asked for, and once more where it refused")
{
    asio::io_context io;
    collector there(io);
    there.statuses = {http::status::service_unavailable, http::status::ok};
    otlp_exporter exporter(target_at(there.url() + "/base/", "x-token=a%2Cb,x-team=one"), false);
    metrics::spans().add(named("one"));
    task_group group(io.get_executor());
    group.spawn("collector", there.serve());
    group.spawn("export", exporter.run());
    test::run_coroutine(io, there.until(2), std::chrono::seconds(20));
    for (const request& post : there.got) {
        CHECK(post.target() == "/base/v1/traces");
        CHECK(post[http::field::content_type] == "application/json");
        CHECK(post["x-token"] == "a,b");
        CHECK(post["x-team"] == "one");
        CHECK(span_in(json::parse(post.body()), 0).at("name") == "one");
    }
    metrics::spans().add(named("last"));
    test::run_coroutine(io, exporter.finish(), std::chrono::seconds(20));
    CHECK(span_in(json::parse(there.got.back().body()), 0).at("name") == "last");
    CHECK(there.got.size() == 3);
    group.cancel_all();
    CHECK(test::run_coroutine(io, group.wait_idle(std::chrono::seconds(5))));
}

TEST_CASE("without a collector the end comes all the same")
{
    asio::io_context io;
    std::string url;
    {
        collector gone(io);
        url = gone.url();
    }
    otlp_exporter exporter(target_at(url), true);
    metrics::spans().add(named("lost"));
    test::run_coroutine(io, exporter.finish(), std::chrono::seconds(20));
    CHECK_FALSE(metrics::spans().wants({}));
    CHECK_FALSE(log::records().is_open());
}

TEST_CASE("a log record in OTLP's JSON has time, severity, typed attributes and the ids of its trace")
{
    log::record one;
    one.when = std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000));
    one.severity = log::level::warning;
    one.event = "login_refused";
    one.attributes = {{"peer", "127.0.0.1"}, {"ms", 1.5}, {"bytes", 42}, {"done", true}, {"on", json::array{"a", "b"}}};
    one.trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    one.span = "00f067aa0ba902b7";
    const json::value message = otlp_logs({{"service.name", "here"}}, {one});
    const auto& record = message.at("resourceLogs").at(0).at("scopeLogs").at(0).at("logRecords").at(0).as_object();
    CHECK(record.at("timeUnixNano") == "1700000000000000000");
    CHECK(record.at("severityNumber") == 13);
    CHECK(record.at("severityText") == "WARNING");
    CHECK(record.at("body").at("stringValue") == "login_refused");
    CHECK(record.at("eventName") == "login_refused");
    CHECK(record.at("traceId") == json::value(one.trace));
    CHECK(record.at("spanId") == json::value(one.span));
    CHECK(json::serialize(record.at("attributes")) ==
          R"([{"key":"peer","value":{"stringValue":"127.0.0.1"}},{"key":"ms","value":{"doubleValue":1.5E0}},)"
          R"({"key":"bytes","value":{"intValue":"42"}},{"key":"done","value":{"boolValue":true}},)"
          R"({"key":"on","value":{"arrayValue":{"values":[{"stringValue":"a"},{"stringValue":"b"}]}}}])");
}

TEST_CASE("the resource names service, version, instance, host and process, and what the setting adds or replaces")
{
    const auto target =
        target_at("http://127.0.0.1:1", "", "deployment.environment.name=prod,service.name=other%20one");
    std::map<std::string, std::string> all(target.resource.begin(), target.resource.end());
    CHECK(all.at("service.name") == "other one");
    CHECK(all.at("deployment.environment.name") == "prod");
    CHECK(all.at("service.instance.id").size() == 32);
    CHECK(all.at("process.pid") == std::to_string(::getpid()));
    CHECK(all.contains("host.name"));
    CHECK(all.size() == target.resource.size());
}

TEST_CASE("events of the log go to the collector, from any thread, with the fields that a trace has")
{
    asio::io_context io;
    collector there(io);
    otlp_exporter exporter(target_at(there.url()), true);
    const std::string trace(32, 'a');
    log::info("first",
              {{"trace", trace}, {"span", std::string(16, 'b')}, {"number", 7}, {"absent", std::optional<int>()}});
    std::thread([] { log::warning("second", {{"text", "a\nb"}}); }).join();
    task_group group(io.get_executor());
    group.spawn("collector", there.serve());
    group.spawn("export", exporter.run());
    test::run_coroutine(io, there.until(1), std::chrono::seconds(20));
    CHECK(there.got.front().target() == "/v1/logs");
    const auto message = json::parse(there.got.front().body());
    const auto& records = message.at("resourceLogs").at(0).at("scopeLogs").at(0).at("logRecords").as_array();
    REQUIRE(records.size() == 2);
    CHECK(records[0].at("traceId") == json::value(trace));
    CHECK(records[0].at("attributes").as_array().size() == 1);
    CHECK_FALSE(records[1].as_object().contains("traceId"));
    group.cancel_all();
    CHECK(test::run_coroutine(io, group.wait_idle(std::chrono::seconds(5))));
    test::run_coroutine(io, exporter.finish(), std::chrono::seconds(20));
}

TEST_CASE("a collector without a pipeline for logs is left in peace, and spans go on")
{
    asio::io_context io;
    collector there(io);
    there.statuses = {http::status::not_found, http::status::ok};
    otlp_exporter exporter(target_at(there.url()), true);
    log::info("unwanted");
    task_group group(io.get_executor());
    group.spawn("collector", there.serve());
    group.spawn("export", exporter.run());
    test::run_coroutine(io, there.until(1), std::chrono::seconds(20));
    metrics::spans().add(named("wanted"));
    test::run_coroutine(io, there.until(2), std::chrono::seconds(20));
    CHECK(there.got[1].target() == "/v1/traces");
    CHECK_FALSE(log::records().is_open());
    group.cancel_all();
    CHECK(test::run_coroutine(io, group.wait_idle(std::chrono::seconds(5))));
    test::run_coroutine(io, exporter.finish(), std::chrono::seconds(20));
}

TEST_CASE("a queue of log records that nobody takes holds a bounded number, and counts those that it loses")
{
    log::record_queue queue;
    queue.open();
    for (int i = 0; i < 10'000; ++i) queue.add({}, log::level::info, "event", {{"i", i}});
    CHECK(queue.size() == 8192);
    CHECK(queue.dropped() == 10'000 - 8192);
    CHECK(queue.take(1).front().attributes.front().second == 10'000 - 8192);
}

TEST_CASE("a collector's address or headers that cannot be used are told with the setting's name")
{
    CHECK_THROWS_WITH(target_at("ftp://x"), Catch::Matchers::StartsWith("OTEL_EXPORTER_OTLP_ENDPOINT: "));
    for (const char* wrong : {"nothing", "=x", "a b=c", "a=%0d%0aX: y", "a=%zz"})
        CHECK_THROWS_WITH(target_at("http://127.0.0.1:1", wrong),
                          Catch::Matchers::StartsWith("OTEL_EXPORTER_OTLP_HEADERS: "));
    CHECK_THROWS_WITH(target_at("http://127.0.0.1:1", "", "nothing"),
                      Catch::Matchers::StartsWith("OTEL_RESOURCE_ATTRIBUTES: "));
}
