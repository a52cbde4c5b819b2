#include "config/settings.hpp"
#include "test/cluster/two_servers.hpp"
#include "test/support/catch.hpp"
#include "test/support/tls_peer.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

const std::string of_two = "sbx_n2" + std::string(random_part);
const std::string ann = "Authorization: Bearer token-of-ann-0123456789\r\n";
const std::string bob = "Authorization: Bearer token-of-bob-0123456789\r\n";

json::value structured(const raw_response& response)
{
    INFO(response.body);
    return response.parsed().at("result").at("structuredContent");
}

std::string initialize()
{
    return post("/mcp",
                R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",)"
                R"("capabilities":{},"clientInfo":{"name":"t","version":"1"}}})",
                ann);
}

std::string session_of(member_server& at)
{
    auto begun = request(at.server(), initialize());
    return begun.field("mcp-session-id");
}

}  // namespace

TEST_CASE("a call for another server's sandbox is answered by that server, for the same caller")
{
    two_servers both;
    const auto result = structured(request(both.one->server(), modern_call("whose", of_two)));
    CHECK(result.at("node") == "n2");
    CHECK(result.at("principal") == "ann");
    CHECK(both.one->calls() == 0);
}

TEST_CASE("calls one after another use one connection, and each has its own answer")
{
    two_servers both;
    raw_client client(both.one->server().port());
    for (int i = 0; i != 20; ++i) CHECK(structured(client.request(modern_call("whose", of_two))).at("node") == "n2");
    CHECK(both.two->calls() == 20);
}

TEST_CASE("a call in a session of one server for a sandbox of the other has the other's progress and result")
{
    two_servers both;
    const auto id = session_of(*both.one);
    CHECK(id.starts_with("ses_n1_"));
    raw_client client(both.one->server().port());
    const auto body =
        R"({"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"whose","arguments":{"sandbox_id":")" +
        of_two + R"(","text":"under way"},"_meta":{"progressToken":"p"}}})";
    client.send(post("/mcp", body, in_session(id) + ann));
    CHECK(client.read_head().field("content-type") == "text/event-stream");
    const auto progress = client.read_event().parsed();
    CHECK(progress.at("params").at("progressToken") == "p");
    CHECK(progress.at("params").at("message") == "under way");
    CHECK(client.read_event().parsed().at("result").at("structuredContent").at("node") == "n2");
}

TEST_CASE("a session is used through the other server: messages, its stream, its end")
{
    two_servers both;
    const auto id = session_of(*both.one);
    raw_client client(both.two->server().port());
    const auto own = in_session(id) + ann;
    const auto pinged = client.request(post("/mcp", R"({"jsonrpc":"2.0","id":1,"method":"ping"})", own));
    CHECK(pinged.status == 200);
    raw_client listener(both.two->server().port());
    listener.send("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n" + own + "\r\n");
    CHECK(listener.read_head().status == 200);
    raw_client stranger(both.two->server().port());
    CHECK(stranger.request(post("/mcp", R"({"jsonrpc":"2.0","id":1,"method":"ping"})", in_session(id) + bob)).status ==
          404);
    const auto ended = client.request("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n" + own + "\r\n");
    CHECK(ended.status == 204);
    CHECK(listener.read_event().ended);
    CHECK(client.request(post("/mcp", R"({"jsonrpc":"2.0","id":2,"method":"ping"})", own)).status == 404);
}

TEST_CASE("a call on the other server ends when its client goes away")
{
    two_servers both;
    {
        raw_client client(both.one->server().port());
        client.send(modern_call("waits", of_two));
        REQUIRE(eventually([&] { return both.two->waits() == 1; }));
    }
    CHECK(eventually([&] { return both.two->waits() == 0; }));
}

TEST_CASE("a list is made by all servers, and one that is gone is named")
{
    two_servers both;
    const auto list = post("/mcp", call_2026(1, "places", "{}"), headers_2026("places") + ann);
    CHECK(structured(request(both.one->server(), list)).at("places") == json::array{"n1", "n2"});
    both.two.reset();
    const auto alone = structured(request(both.one->server(), list));
    CHECK(alone.at("places") == json::array{"n1"});
    CHECK(alone.at("unreachable_nodes") == json::array{"n2"});
}

TEST_CASE("the caller is told that the other server cannot be reached, and which it is")
{
    two_servers both;
    const auto id = session_of(*both.two);
    both.two.reset();
    const auto result = structured(request(both.one->server(), modern_call("whose", of_two)));
    CHECK(result.at("error_type") == "NodeUnreachable");
    CHECK(result.at("node") == "n2");
    const auto refused =
        request(both.one->server(), post("/mcp", R"({"jsonrpc":"2.0","id":1,"method":"ping"})", in_session(id) + ann));
    CHECK(refused.status == 502);
    CHECK(refused.field("retry-after") == "5");
    CHECK(refused.body.find("The server n2 of this cluster cannot be reached") != std::string::npos);
}

TEST_CASE("a handle of an unknown server is answered here, and nobody is connected to")
{
    two_servers both;
    for (const auto& sandbox : {"sbx_n9" + std::string(random_part), "sbx_127.0.0.1:22" + std::string(random_part)})
        CHECK(structured(request(both.one->server(), modern_call("whose", sandbox))).at("node") == "n1");
}

TEST_CASE("a client cannot say that it is a member")
{
    two_servers both;
    const auto call = modern_call("whose", "sbx_n1" + std::string(random_part), claim_of_root());
    CHECK(structured(request(both.one->server(), call)).at("principal") == "ann");
    const auto passed = modern_call("whose", of_two, claim_of_root());
    CHECK(structured(request(both.one->server(), passed)).at("principal") == "ann");
    const auto nameless = post("/mcp", call_2026(1, "whose"), headers_2026("whose") + claim_of_root());
    CHECK(request(both.one->server(), nameless).status == 401);
}

TEST_CASE("the port for members is closed to others")
{
    two_servers both;
    const auto open = [&](const tls_peer::terms& terms) { return tls_peer(connected_to(both.one->entrance()), terms); };
    const auto call = post("/mcp", call_2026(1, "whose"), headers_2026("whose") + claim_of_root());
    auto without = open({});
    without.send(call);
    CHECK(without.until("\r\n\r\n").empty());
    tls_peer::terms terms;
    terms.certificate = both.files.signed_by(both.authority, "n9", "n9", "DNS:n9");
    auto no_member = open(terms);
    no_member.send(call);
    CHECK(no_member.until("\r\n\r\n").starts_with("HTTP/1.1 403"));
    const auto other = both.files.authority("other", "somebody else");
    terms.certificate = both.files.signed_by(other, "n2-of-other", "n2", "DNS:n2");
    auto of_others = open(terms);
    of_others.send(call);
    CHECK(of_others.until("\r\n\r\n").empty());
    terms.certificate = both.files.signed_by(both.authority, "n2-again", "n2", "DNS:n2");
    auto member = open(terms);
    member.send(call);
    CHECK(member.until("root").find("\"principal\":\"root\"") != std::string::npos);
}

TEST_CASE("a server that shows another name's certificate is not spoken to")
{
    two_servers both;
    both.two.reset();
    auto config = both.settings_of("n2");
    const auto wrong = both.files.signed_by(both.authority, "n3", "n3", "DNS:n3");
    config.cluster_cert = wrong.certificate;
    config.cluster_key = wrong.key;
    const auto port = read_members(config.cluster_members)[1].port;
    both.two = std::make_unique<member_server>(config, bound_address("127.0.0.1", port, true));
    const auto result = structured(request(both.one->server(), modern_call("whose", of_two)));
    CHECK(result.at("error_type") == "NodeUnreachable");
    CHECK(std::string(result.at("error").as_string()).find("certificate") != std::string::npos);
    CHECK(both.two->calls() == 0);
}
