#include "config/settings.hpp"
#include "test/inbound/transport/http_fixture.hpp"
#include "test/inbound/transport/idle_administration.hpp"
#include "test/support/catch.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace cmcp;
using namespace cmcp::test;
using namespace std::chrono_literals;

namespace {

std::string listed(std::size_t count)
{
    std::string text = "[";
    for (std::size_t i = 0; i < count; ++i) text += i == 0 ? "[]" : ",[]";
    return text + "]";
}

std::string members(std::size_t count)
{
    std::string text = "{\"text\":\"hi\"";
    for (std::size_t i = 0; i < count; ++i) text += ",\"k" + std::to_string(i) + "\":1";
    return text + "}";
}

std::string rest_call(std::string_view arguments, std::string_view extra = {})
{
    return post("/mcp/tools/echo", arguments, extra);
}

// The text that the tool "echo" has answered with, in its result object.
std::string text_in(const json::value& result) { return std::string(result.at("text").as_string()); }

std::string error_in(const raw_response& answer)
{
    const auto body = answer.parsed();
    const auto& error = body.at("error");
    return std::string(error.is_object() ? error.at("message").as_string() : error.as_string());
}

}  // namespace

TEST_CASE("a long body is answered as a short one is, by every way in")
{
    http_fixture server;
    raw_client client(server.port());
    const auto arguments = R"({"text":"hi","more":)" + listed(60'000) + "}";
    CHECK(text_in(client.request(rest_call(arguments)).parsed()) == "hi");
    const auto modern = client.request(post("/mcp", call_2026(1, "echo", arguments), headers_2026("echo")));
    CHECK(text_in(modern.parsed().at("result").at("structuredContent")) == "hi");
    const auto id = server.open_session("2025-06-18");
    const auto legacy = client.request(post("/mcp", call(2, "echo", arguments), in_session(id)));
    CHECK(text_in(legacy.parsed().at("result").at("structuredContent")) == "hi");
    const auto older = server.open_session("2025-03-26");
    const auto batch =
        client.request(post("/mcp", "[" + call(3, "echo", arguments) + "," + call(4, "echo") + "]", in_session(older)));
    REQUIRE(batch.parsed().as_array().size() == 2);
    CHECK(client.request(rest_call(R"({"text":"short"})")).parsed().at("text") == "short");
}

TEST_CASE("a body with too many values or members is refused with the bound that it is over")
{
    http_fixture server;
    raw_client client(server.port());
    const auto values = R"({"text":"hi","x":)" + listed(1'000'000) + "}";
    const auto refused = client.request(rest_call(values));
    CHECK(refused.status == 400);
    CHECK(error_in(refused).find("more than 250000 values") != std::string::npos);
    const auto wide = client.request(rest_call(members(60'000)));
    CHECK(wide.status == 400);
    CHECK(error_in(wide).find("more than 50000 members") != std::string::npos);
    const auto modern = client.request(post("/mcp", call_2026(7, "echo", values), headers_2026("echo")));
    CHECK(modern.status == 400);
    CHECK(modern.parsed().at("id") == 7);
    CHECK(error_in(modern).find("more than 250000 values") != std::string::npos);
    CHECK(client.request(rest_call(std::string(100'000, ' '))).status == 200);  // no arguments
    CHECK(client.request(rest_call(members(40'000))).parsed().at("text") == "hi");
}

TEST_CASE("a long body that is no JSON, or no object, is refused with a sentence")
{
    http_fixture server;
    raw_client client(server.port());
    for (const auto& body :
         {listed(50'000) + "]", listed(50'000), "\"" + std::string(100'000, 'x') + "\"", std::string(100'000, '[')}) {
        const auto refused = client.request(rest_call(body));
        CHECK(refused.status == 400);
        CHECK_FALSE(error_in(refused).empty());
    }
}

TEST_CASE("a path that reads a few members takes no long body")
{
    auto config = http_fixture::quick_settings();
    config.auth_tokens = {{"anna", "one"}};
    idle_administration administration;
    http_parts to;
    to.administration = &administration;
    http_fixture server(config, {}, to);
    raw_client client(server.port());
    const auto refused = client.request(post("/ui/login", "{\"token\":\"" + std::string(70'000, 'x') + "\"}"));
    CHECK(refused.status == 413);
    CHECK(error_in(refused).find("64 KiB") != std::string::npos);
}

TEST_CASE("a client that leaves while its body is read ends the reading, and the server goes on")
{
    http_fixture server;
    const auto body = R"({"text":"hi","x":)" + listed(100'000) + "}";
    for (int i = 0; i < 20; ++i) {
        raw_client leaving(server.port());
        leaving.send(rest_call(body));
        leaving.close();
    }
    raw_client client(server.port());
    CHECK(client.request(rest_call(body)).status == 200);
    CHECK(eventually([&] { return server.health().at("requests_in_flight") == 0; }));
}

TEST_CASE("bodies of one caller that take long to read do not keep another from being served")
{
    auto config = http_fixture::quick_settings();
    config.auth_tokens = {{"anna", "one"}, {"ben", "two"}};
    http_fixture server(config);
    const auto body = rest_call(R"({"text":"hi","x":)" + listed(100'000) + "}", "Authorization: Bearer one\r\n");
    constexpr int annas_count = 4, each_asks = 3;
    std::atomic<int> asking = annas_count, answered = 0;
    std::vector<std::thread> annas;
    for (int i = 0; i < annas_count; ++i)
        annas.emplace_back([&] {
            raw_client client(server.port());
            for (int request = 0; request < each_asks; ++request)
                answered += client.request(body).status == 200 ? 1 : 0;
            --asking;
        });
    raw_client bens(server.port());
    int refused = 0;
    do refused += bens.request(rest_call(R"({"text":"hi"})", "Authorization: Bearer two\r\n")).status != 200 ? 1 : 0;
    while (asking > 0);
    for (auto& each : annas) each.join();
    CHECK(answered == annas_count * each_asks);
    CHECK(refused == 0);
}
