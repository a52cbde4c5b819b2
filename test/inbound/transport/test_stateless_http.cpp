#include "test/inbound/transport/http_fixture.hpp"

#include "test/support/catch.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

std::int64_t error_code(const raw_response& answer)
{
    return answer.parsed().at("error").at("code").to_number<std::int64_t>();
}

}  // namespace

TEST_CASE("a 2026-07-28 call needs no session")
{
    http_fixture server;
    auto answer = request(server, post("/mcp", call_2026(1, "echo", R"({"text":"hi"})"), headers_2026("echo")));
    CHECK(answer.status == 200);
    CHECK(answer.parsed().at("result").at("structuredContent").at("text") == "hi");
    CHECK(answer.field("mcp-session-id").empty());
    CHECK(server.health().at("sessions") == 0);
}

TEST_CASE("headers that say something else than the body are refused and nothing runs")
{
    http_fixture server;
    auto name = request(server, post("/mcp", call_2026(1, "echo"), headers_2026("wait")));
    CHECK(name.status == 400);
    CHECK(error_code(name) == rpc_code::header_mismatch);
    auto none = request(server, post("/mcp", call_2026(1, "echo")));
    CHECK(none.status == 400);
    CHECK(error_code(none) == rpc_code::header_mismatch);
    CHECK(server.probe().started == 0);
}

TEST_CASE("an unknown method of 2026-07-28 is not found")
{
    http_fixture server;
    auto body =
        R"({"jsonrpc":"2.0","id":1,"method":"no/such","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}})";
    auto answer = request(server, post("/mcp", body, "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: no/such\r\n"));
    CHECK(answer.status == 404);
    CHECK(error_code(answer) == rpc_code::method_not_found);
}

TEST_CASE("a header of 2026-07-28 without the claim in the body is invalid params")
{
    http_fixture server;
    auto answer = request(server, post("/mcp", call(9, "echo"), headers_2026("echo")));
    CHECK(answer.status == 400);
    CHECK(error_code(answer) == rpc_code::invalid_params);
    CHECK(answer.parsed().at("id") == 9);
}

TEST_CASE("closing the stream cancels a 2026-07-28 request, before and after its first message")
{
    http_fixture server;
    for (std::string tool : {"wait", "talk_and_wait"}) {
        int before = server.probe().cancelled;
        {
            raw_client client(server.port());
            client.send(post("/mcp", call_2026(1, tool), headers_2026(tool)));
            REQUIRE(eventually([&] { return server.probe().started == before + 1; }));
            if (tool != "wait") client.read_head();
        }
        CHECK(eventually([&] { return server.probe().cancelled == before + 1; }));
    }
    CHECK(eventually([&] { return server.health().at("requests_in_flight") == 0; }));
}

TEST_CASE("events of 2026-07-28 have no ids")
{
    http_fixture server;
    raw_client client(server.port());
    client.send(post("/mcp", call_2026(1, "chat", R"({"count":2,"size":5})"), headers_2026("chat")));
    client.read_head();
    CHECK(client.read_event().id.empty());
    CHECK(client.read_event().id.empty());
    CHECK(client.read_event().parsed().at("id") == 1);
    CHECK(client.read_event().ended);
}

TEST_CASE("stopping lets a request end, then cancels what is left")
{
    http_fixture server;
    raw_client first(server.port());
    first.send(post("/mcp", call_2026(1, "wait"), headers_2026("wait")));
    REQUIRE(eventually([&] { return server.probe().started == 1; }));
    auto stopped = server.begin_stop();
    server.release();
    auto answer = first.read();
    CHECK(answer.status == 200);
    CHECK(answer.parsed().at("result").at("structuredContent").at("text") == "released");
    CHECK(first.closed());
    stopped.get();
}

TEST_CASE("stopping ends open streams properly and does not wait for the stuck ones")
{
    http_fixture server;
    auto id = server.open_session();
    raw_client idle(server.port());
    CHECK(idle.request(get("/healthz")).status == 200);
    raw_client stream(server.port());
    stream.send(get("/mcp", in_session(id)));
    CHECK(stream.read_head().status == 200);
    raw_client stuck(server.port());
    stuck.send(post("/mcp", call(1, "talk_and_wait"), in_session(id)));
    CHECK(stuck.read_head().status == 200);
    stuck.read_event();
    auto stopped = server.begin_stop();
    CHECK(idle.closed());
    CHECK(stream.read_event().ended);
    CHECK(stuck.read_event().ended);
    stopped.get();
    CHECK(server.probe().cancelled == 1);
}
