#include "test/support/catch.hpp"

#include "jsonrpc/json.hpp"
#include "load/load_options.hpp"

#include <stdexcept>

using namespace cmcp;
using namespace cmcp::load;

TEST_CASE("a call names a tool or a method, its arguments and its weight")
{
    auto ping = parse_operation("ping");
    CHECK(ping.method == "ping");
    CHECK(ping.tool.empty());
    auto heavy = parse_operation("system_env_var*2.5");
    CHECK(heavy.method == "tools/call");
    CHECK(heavy.tool == "system_env_var");
    CHECK(heavy.weight == 2.5);
    auto full = parse_operation(R"(system_run_command:{"command":"echo 2*3"}*4)");
    CHECK(full.tool == "system_run_command");
    CHECK(json::parse(full.arguments).at("command") == "echo 2*3");
    CHECK(full.weight == 4);
    CHECK(parse_operation(R"(t:{"a":"*"})").weight == 1);
    CHECK_THROWS_AS(parse_operation("tool:[1]"), std::invalid_argument);
    CHECK_THROWS_AS(parse_operation("tool*0"), std::invalid_argument);
    CHECK_THROWS_AS(parse_operation(""), std::invalid_argument);
}

TEST_CASE("requests are JSON-RPC of their era")
{
    auto call = parse_operation(R"(echo:{"text":"hi"})");
    auto old = json::parse(request_text(call, transport::sse, 7, true)).as_object();
    CHECK(old.at("id") == 7);
    CHECK(old.at("params").at("name") == "echo");
    CHECK(old.at("params").at("arguments").at("text") == "hi");
    CHECK(old.at("params").at("_meta").at("progressToken") == 7);
    auto now = json::parse(request_text(parse_operation("tools/list"), transport::stateless, 8, true)).as_object();
    CHECK(now.at("params").at("_meta").at("io.modelcontextprotocol/protocolVersion") == "2026-07-28");
    CHECK_FALSE(now.at("params").at("_meta").as_object().contains("progressToken"));
    CHECK(json::parse(request_text(parse_operation("ping"), transport::stdio, 9, false))
              .at("params")
              .as_object()
              .empty());
    CHECK(json::parse(listen_text(1)).at("method") == "subscriptions/listen");
    CHECK(json::parse(initialize_text("2025-11-25")).at("params").at("protocolVersion") == "2025-11-25");
}

TEST_CASE("a mix interleaves its calls by their weights")
{
    mix calls({parse_operation("a*3"), parse_operation("b"), parse_operation("c*2")});
    std::string order;
    for (int i = 0; i < 12; ++i) order += calls.all()[calls.next()].tool;
    CHECK(std::count(order.begin(), order.end(), 'a') == 6);
    CHECK(std::count(order.begin(), order.end(), 'b') == 2);
    CHECK(std::count(order.begin(), order.end(), 'c') == 4);
    CHECK(order.find("aaa") == std::string::npos);
}

TEST_CASE("what follows a method is its params")
{
    auto read = parse_operation(R"(resources/read:{"uri":"file:///a"})");
    auto plain = json::parse(request_text(read, transport::streamable, 1, true)).as_object();
    CHECK(plain.at("params").as_object() == json::object{{"uri", "file:///a"}});
    auto now = json::parse(request_text(read, transport::stateless, 2, false)).as_object();
    CHECK(now.at("params").at("uri") == "file:///a");
    CHECK(now.at("params").at("_meta").at("io.modelcontextprotocol/protocolVersion") == "2026-07-28");
}
