#include "test/support/catch.hpp"

#include "jsonrpc/json.hpp"
#include "transport/relayed_session.hpp"

using namespace cmcp;

namespace {

std::string request(const std::string& id, const std::string& method, const std::string& params = "{}")
{
    return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method + R"(","params":)" + params + "}";
}

std::string note(const std::string& method, const std::string& params = "{}")
{
    return R"({"method":")" + method + R"(","params":)" + params + R"(,"jsonrpc":"2.0"})";
}

std::string result(const std::string& id) { return R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":{"id":99}})"; }

void send(relayed_session& session, const std::string& line)
{
    session.expect(line);
    session.keep(line);
}

/// The ids of the errors that the client gets.
std::vector<std::string> lost_ids(relayed_session& session)
{
    std::vector<std::string> ids;
    for (const auto& text : session.lost()) {
        const auto message = json::parse(text).as_object();
        CHECK(message.at("error").at("code") == -32000);
        CHECK(message.at("error").at("data").at("type") == "ResponseLost");
        ids.push_back(json::serialize(message.at("id")));
    }
    return ids;
}

using texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a relayed session knows what the server has not answered, whatever the form of the ids")
{
    relayed_session session;
    for (const auto* id : {"1", "\"1\"", "7.0", "-3", "18446744073709551615", R"("a\"b\\é")", "\"\""})
        send(session, request(id, "tools/call"));
    CHECK(session.concerns_client(result("1")));
    CHECK(session.concerns_client(R"({"jsonrpc":"2.0","id":-3,"error":{"code":-32602,"message":"no"}})"));
    CHECK(lost_ids(session) == texts{"\"1\"", "7", "18446744073709551615", R"("a\"b\\é")", "\"\""});
    CHECK(lost_ids(session).empty());
}

TEST_CASE("a relayed session finds the id of a message wherever it stands")
{
    const std::string longest(200'000, 'x');
    relayed_session session;
    send(session, R"({"method":"tools/call","params":{"id":5,"text":")" + longest + R"(\"}"},"jsonrpc":"2.0","id":6})");
    send(session, "\xef\xbb\xbf" + request("7", "ping"));
    send(session, " \t" + request("8", "ping"));
    send(session, R"({"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"cut)");
    CHECK(lost_ids(session) == texts{"6", "7", "8", "9"});
}

TEST_CASE("messages that no answer is due to leave nothing open in a relayed session")
{
    relayed_session session;
    for (const auto& line : texts{"", "   ", "nonsense", "[]", "{", note("notifications/x", R"({"id":1})"), result("4"),
                                  request("null", "ping"), request("[1]", "ping"), request("1.5", "ping"),
                                  request("\"" + std::string(5000, 'i') + "\"", "ping"),
                                  R"({"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"declined"}})"})
        send(session, line);
    CHECK(session.lost().empty());
    CHECK(session.to_send_again().empty());
}

TEST_CASE("a request of the server passes a relayed session and ends none of the client's")
{
    relayed_session session;
    send(session, request("1", "tools/call"));
    CHECK(session.concerns_client(request("1", "elicitation/create")));
    CHECK(session.concerns_client(note("notifications/message")));
    CHECK(session.concerns_client("no JSON"));
    send(session, result("1"));
    CHECK(lost_ids(session) == texts{"1"});
}

TEST_CASE("a request that is cancelled or could not be sent is not waited for")
{
    relayed_session session;
    send(session, request("1", "tools/call"));
    send(session, request("\"1\"", "tools/call"));
    send(session, note("notifications/cancelled", R"({"requestId":1.0,"reason":"no more"})"));
    session.expect(request("2", "tools/call"));
    session.forget(request("2", "tools/call"));
    CHECK(lost_ids(session) == texts{"\"1\""});
}

TEST_CASE("the members of a batch are waited for one by one")
{
    relayed_session session;
    send(session, "[" + request("1", "ping") + "," + note("notifications/x") + ", " + request("2", "ping") + "," +
                      request("3", "ping") + "]");
    CHECK(session.concerns_client("[" + result("3") + "," + result("1") + "]"));
    CHECK(lost_ids(session) == texts{"2"});
}

TEST_CASE("the next server gets the beginning of a relayed session again, and the client no second answer")
{
    relayed_session session;
    const auto hello = request("0", "initialize", R"({"protocolVersion":"2025-06-18"})");
    const auto ready = note("notifications/initialized");
    send(session, hello);
    CHECK(session.concerns_client(result("0")));
    send(session, ready);
    send(session, request("1", "logging/setLevel", R"({"level":"debug"})"));
    send(session, request("2", "resources/subscribe", R"({"uri":"file:///a"})"));
    send(session, request("3", "resources/subscribe", R"({"uri":"file:///b"})"));
    send(session, request("4", "resources/unsubscribe", R"({"uri":"file:///a"})"));
    const auto last = request("5", "logging/setLevel", R"({"level":"error"})");
    send(session, last);
    for (const auto* id : {"1", "2", "3", "4", "5"}) CHECK(session.concerns_client(result(id)));
    for (int servers = 0; servers != 3; ++servers) {
        send(session, request("6", "tools/call"));
        CHECK(lost_ids(session) == texts{"6"});
        CHECK(session.to_send_again() ==
              texts{hello, ready, last, request("3", "resources/subscribe", R"({"uri":"file:///b"})")});
        for (const auto* id : {"0", "5", "3"}) {
            CHECK_FALSE(session.concerns_client(result(id)));
            CHECK(session.concerns_client(result(id)));
        }
    }
}

TEST_CASE("a client whose initialize is not answered gets the answer of the next server")
{
    relayed_session session;
    const auto hello = request("0", "initialize");
    send(session, hello);
    send(session, request("1", "tools/list"));
    CHECK(lost_ids(session) == texts{"1"});
    CHECK(session.to_send_again() == texts{hello});
    CHECK(lost_ids(session).empty());
    CHECK(session.to_send_again() == texts{hello});
    CHECK(session.concerns_client(result("0")));
    CHECK(session.lost().empty());
    session.to_send_again();
    CHECK_FALSE(session.concerns_client(result("0")));
}

TEST_CASE("what a relayed session remembers is bounded")
{
    relayed_session session;
    for (int i = 0; i != 5000; ++i) send(session, request(std::to_string(i), "ping"));
    for (int i = 0; i != 1000; ++i)
        send(session, request("\"s\"", "resources/subscribe", R"({"uri":"file:///)" + std::to_string(i) + "\"}"));
    CHECK(session.lost().size() <= 4096);
    CHECK(session.to_send_again().size() <= 256);
}
