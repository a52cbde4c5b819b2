#include "telemetry/otlp_exporter.hpp"
#include "telemetry/otlp_message.hpp"

#include "async/task_group.hpp"
#include "config/settings.hpp"
#include "metrics/span_queue.hpp"
#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

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
    const json::value message = otlp_message("here", {child, named("ping")});
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
    otlp_exporter exporter(otlp_target::read(there.url() + "/base/", "here", "x-token=a%2Cb,x-team=one"));
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
    otlp_exporter exporter(otlp_target::read(url, "here", ""));
    metrics::spans().add(named("lost"));
    test::run_coroutine(io, exporter.finish(), std::chrono::seconds(20));
    CHECK_FALSE(metrics::spans().wants({}));
}

TEST_CASE("a collector's address or headers that cannot be used are told with the setting's name")
{
    CHECK_THROWS_WITH(otlp_target::read("ftp://x", "s", ""),
                      Catch::Matchers::StartsWith("OTEL_EXPORTER_OTLP_ENDPOINT: "));
    for (const char* wrong : {"nothing", "=x", "a b=c", "a=%0d%0aX: y", "a=%zz"})
        CHECK_THROWS_WITH(otlp_target::read("http://127.0.0.1:1", "s", wrong),
                          Catch::Matchers::StartsWith("OTEL_EXPORTER_OTLP_HEADERS: "));
}
