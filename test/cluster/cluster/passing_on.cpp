#include "config/settings.hpp"
#include "jsonrpc/message.hpp"
#include "test/cluster/cluster/two_servers.hpp"
#include "test/support/catch.hpp"
#include "test/support/tls_peer.hpp"

#include <future>
#include <optional>

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

/// n1 cannot connect to n2, and n3 only where it `can`.
struct three_servers : member_papers {
    explicit three_servers(bool can) : three_servers(entrances_of({"n1", "n2", "n3"}), can) {}

    std::unique_ptr<member_server> one, two, three;

private:
    three_servers(std::map<std::string, bound_address> entrances, bool can) : member_papers(entrances)
    {
        const auto begin = [&](const std::string& name, bool connects) {
            auto config = settings_of(name);
            for (auto& each : config.others)
                if (each.key.ends_with("n2") && !connects) each.value = R"({"host":"127.0.0.1","port":1})";
            return std::make_unique<member_server>(std::move(config), std::move(entrances.at(name)));
        };
        one = begin("n1", false);
        two = begin("n2", true);
        three = begin("n3", can);
    }
};

bool answers(std::uint16_t port)
{
    try {
        connected_to(port);
        return true;
    } catch (const std::runtime_error&) {
        return false;
    }
}

/// n2 stops when it is told to, and is not done before a client of its own goes away.
struct stopping_server : member_papers {
    stopping_server() : stopping_server(entrances_of({"n1", "n2"})) {}
    ~stopping_server()
    {
        client_.reset();
        if (stopped_.valid()) stopped_.wait();
    }
    stopping_server(const stopping_server&) = delete;
    stopping_server& operator=(const stopping_server&) = delete;

    void begin_stop()
    {
        client_.emplace(two->server().port()).send(modern_call("waits", of_two));
        REQUIRE(eventually([&] { return two->waits() == 1; }));
        stopped_ = two->server().begin_stop();
        REQUIRE(eventually([&] { return !answers(two->server().port()); }));
    }

    std::unique_ptr<member_server> one, two;

private:
    explicit stopping_server(std::map<std::string, bound_address> entrances) : member_papers(entrances)
    {
        auto config = settings_of("n2");
        config.drain_timeout = std::chrono::seconds(60);
        one = std::make_unique<member_server>(settings_of("n1"), std::move(entrances.at("n1")));
        two = std::make_unique<member_server>(std::move(config), std::move(entrances.at("n2")));
    }

    std::optional<raw_client> client_;
    std::future<void> stopped_;
};

}  // namespace

TEST_CASE("a server to which only a third one can connect is reached past that, for the same caller")
{
    three_servers all(true);
    for (int i = 1; i != 4; ++i) {
        const auto result = structured(request(all.one->server(), modern_call("whose", of_two)));
        CHECK(result.at("node") == "n2");
        CHECK(result.at("principal") == "ann");
        CHECK(all.two->calls() == i);
    }
    CHECK(all.three->calls() == 0);
    const auto id = session_of(*all.two);
    const auto ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
    CHECK(request(all.one->server(), post("/mcp", ping, in_session(id) + ann)).status == 200);
    CHECK(request(all.one->server(), post("/mcp", ping, in_session(id) + bob)).status == 404);
    raw_client client(all.one->server().port());
    client.send(modern_call("waits", of_two));
    REQUIRE(eventually([&] { return all.two->waits() == 1; }));
    all.two.reset();
    CHECK(client.read().body.find("\"may_have_run\":true") != std::string::npos);
}

TEST_CASE("a request is passed on between two servers at most once, and only for a server")
{
    three_servers none(false);
    const auto result = structured(request(none.one->server(), modern_call("whose", of_two)));
    CHECK(result.at("error_type") == "NodeUnreachable");
    CHECK_FALSE(result.as_object().contains("may_have_run"));
    const auto id = session_of(*none.two);
    const auto ping = post("/mcp", R"({"jsonrpc":"2.0","id":1,"method":"ping"})", in_session(id) + ann);
    CHECK(request(none.one->server(), ping).status == 503);
    three_servers all(true);
    const std::string past = "cmcp-member-past: n2\r\n";
    const auto of_three = "sbx_n3" + std::string(random_part);
    CHECK(structured(request(all.three->server(), modern_call("whose", of_three, past))).at("node") == "n3");
}

TEST_CASE("a call for another server's sandbox is answered by that server, for the same caller")
{
    two_servers both;
    const auto result = structured(request(both.one->server(), modern_call("whose", of_two)));
    CHECK(result.at("node") == "n2");
    CHECK(result.at("principal") == "ann");
    CHECK(both.one->calls() == 0);
}

TEST_CASE("a call with an Idempotency-Key runs once, whichever server is asked, and for its caller alone")
{
    two_servers both;
    const std::string key = "Idempotency-Key: \"5f0c-1\"\r\n";
    const auto first = structured(request(both.one->server(), modern_call("whose", of_two, key)));
    CHECK(first.at("node") == "n2");
    for (auto* server : {both.one.get(), both.two.get()})
        CHECK(structured(request(server->server(), modern_call("whose", of_two, key))) == first);
    const std::string bare = "Idempotency-Key: 5f0c-1\r\n";
    CHECK(structured(request(both.two->server(), modern_call("whose", of_two, bare))) == first);
    CHECK(both.two->calls() == 1);
    const auto other = request(both.two->server(), modern_call("waits", of_two, key));
    CHECK(other.body.find("given to another call") != std::string::npos);
    CHECK(both.two->waits() == 0);
    const auto of_bob = post("/mcp/tools/whose", R"({"sandbox_id":")" + of_two + R"("})", bob + key);
    CHECK(request(both.two->server(), of_bob).parsed().at("principal") == "bob");
    CHECK(request(both.two->server(), of_bob).parsed().at("principal") == "bob");
    CHECK(both.two->calls() == 2);
}

TEST_CASE("a call of REST for another server's sandbox is answered by that server, whole or as events")
{
    two_servers both;
    const std::string arguments = R"({"sandbox_id":")" + of_two + R"(","text":"one"})";
    const auto answer = request(both.one->server(), post("/mcp/tools/whose", arguments, bob));
    CHECK(answer.status == 200);
    CHECK(answer.parsed().at("node") == "n2");
    CHECK(answer.parsed().at("principal") == "bob");
    const auto events =
        request(both.one->server(), post("/mcp/tools/whose", arguments, bob + "Accept: text/event-stream\r\n"));
    CHECK(events.body.find("\"one\"") < events.body.find("event: result"));
    CHECK(events.body.find("n2") != std::string::npos);
    // A long body is read on the pool, and its call goes there as a message.
    const std::string text(jsonrpc::longest_on_loop, 't');
    const std::string long_one = R"({"sandbox_id":")" + of_two + R"(","text":")" + text + R"("})";
    const auto whole = request(both.one->server(), post("/mcp/tools/whose", long_one, bob)).parsed();
    CHECK(whole.at("node") == "n2");
    CHECK(std::string(whole.at("text").as_string()).starts_with(text.substr(0, 1000)));
    CHECK(both.one->calls() == 0);
    CHECK(both.two->calls() == 3);
    both.two.reset();
    const auto lost = request(both.one->server(), post("/mcp/tools/whose", arguments, bob));
    CHECK(lost.status == 503);
    CHECK(lost.parsed().at("error_type") == "NodeUnreachable");
    CHECK(lost.field("retry-after") != "");
}

TEST_CASE("a key of another form is refused with what is allowed")
{
    two_servers both;
    for (const auto& bad : std::vector<std::string>{"a b", "\"\"", "\"a", "k\\", std::string(256, 'k')}) {
        const std::string field = "Idempotency-Key: " + bad + "\r\n";
        const auto rest = request(both.two->server(), post("/mcp/tools/whose", "{}", ann + field));
        CHECK(rest.status == 400);
        CHECK(rest.body.find("1 to 255 visible characters") != std::string::npos);
        CHECK(request(both.two->server(), modern_call("whose", of_two, field)).status == 400);
    }
    CHECK(both.two->calls() == 0);
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

TEST_CASE("a call under way at a server that goes away is not made again, and its error says that it may have run")
{
    two_servers both;
    raw_client client(both.one->server().port());
    client.send(modern_call("waits", of_two));
    REQUIRE(eventually([&] { return both.two->waits() == 1; }));
    both.two.reset();
    const auto result = structured(client.read());
    CHECK(result.at("error_type") == "NodeUnreachable");
    CHECK(result.at("may_have_run") == true);
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

TEST_CASE("a server that stops begins nothing that another one asks of it over an open connection, and says so")
{
    stopping_server both;
    CHECK(structured(request(both.one->server(), modern_call("whose", of_two))).at("node") == "n2");
    both.begin_stop();
    const auto result = structured(request(both.one->server(), modern_call("whose", of_two)));
    CHECK(result.at("error_type") == "NodeUnreachable");
    CHECK(std::string(result.at("error").as_string()).find("is about to stop") != std::string::npos);
    CHECK_FALSE(result.as_object().contains("may_have_run"));
    CHECK(both.two->calls() == 1);
}

TEST_CASE("a whole request over an open connection to a server that stops is refused as one that was not begun")
{
    stopping_server both;
    const auto id = session_of(*both.two);
    const auto ping = post("/mcp", R"({"jsonrpc":"2.0","id":1,"method":"ping"})", in_session(id) + ann);
    CHECK(request(both.one->server(), ping).status == 200);
    both.begin_stop();
    const auto refused = request(both.one->server(), ping);
    CHECK(refused.status == 503);
    CHECK(refused.field("retry-after") == "5");
    CHECK(refused.body.find("is about to stop") != std::string::npos);
    CHECK(refused.body.find("may_have_run") == std::string::npos);
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
    CHECK(refused.status == 503);
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
    const auto port = both.port_of("n2");
    both.two = std::make_unique<member_server>(config, bound_address("127.0.0.1", port, true));
    const auto result = structured(request(both.one->server(), modern_call("whose", of_two)));
    CHECK(result.at("error_type") == "NodeUnreachable");
    CHECK(std::string(result.at("error").as_string()).find("certificate") != std::string::npos);
    CHECK(both.two->calls() == 0);
}
