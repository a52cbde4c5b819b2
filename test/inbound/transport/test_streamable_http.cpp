#include "test/inbound/transport/http_fixture.hpp"

#include "config/settings.hpp"
#include "store/session_records.hpp"
#include "test/support/catch.hpp"
#include "test/support/temporary_folder.hpp"
#include "text/encodings.hpp"

#include <sys/stat.h>

using namespace cmcp;
using namespace cmcp::test;
using namespace std::chrono_literals;

namespace {

std::string text_of(const json::value& message) { return std::string(message.at("params").at("text").as_string()); }

http_parts keeping(const std::filesystem::path& file)
{
    http_parts to;
    to.sessions_file = file;
    return to;
}

std::string as(std::string_view token) { return "Authorization: Bearer " + std::string(token) + "\r\n"; }

const std::string initialize_2025 =
    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})";

}  // namespace

TEST_CASE("initialize makes a session whose id names the node and cannot be chosen by the client")
{
    http_parts to;
    to.node = "box";
    http_fixture server(http_fixture::quick_settings(), {}, std::move(to));
    raw_client client(server.port());
    auto body =
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})";
    auto begun = client.request(post("/mcp", body, in_session("chosen-by-client")));
    CHECK(begun.status == 200);
    CHECK(handle_maker::node_of(begun.field("mcp-session-id")) == "box");
    CHECK(begun.parsed().at("result").at("protocolVersion") == "2025-06-18");
}

TEST_CASE("a failed initialize leaves no session")
{
    http_fixture server;
    auto failed = request(server, post("/mcp", R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{}})"));
    CHECK(failed.field("mcp-session-id").empty());
    CHECK(failed.parsed().as_object().contains("error"));
    CHECK(server.health().at("sessions") == 0);
}

TEST_CASE("a call that says nothing before its result is answered as JSON")
{
    http_fixture server;
    auto id = server.open_session();
    auto answer = request(server, post("/mcp", call(3, "echo", R"({"text":"hi"})"), in_session(id)));
    CHECK(answer.status == 200);
    CHECK(answer.field("content-type") == "application/json");
    CHECK(answer.parsed().at("result").at("structuredContent").at("text") == "hi");
}

TEST_CASE("a client that takes event streams only gets one")
{
    http_fixture server;
    auto id = server.open_session();
    raw_client client(server.port());
    client.send(post("/mcp", call(3, "echo"), in_session(id) + "Accept: text/event-stream\r\n"));
    CHECK(client.read_head().field("content-type") == "text/event-stream");
    CHECK(client.read_event().parsed().at("id") == 3);
    CHECK(client.read_event().ended);
}

TEST_CASE("large events are whole, and small ones beside them")
{
    http_fixture server;
    auto id = server.open_session();
    raw_client client(server.port());
    const std::string events = in_session(id) + "Accept: text/event-stream\r\n";
    for (const auto* size : {"200000", "10"}) {
        client.send(post("/mcp", call(4, "chat", R"({"count":7,"size":)" + std::string(size) + "}"), events));
        CHECK(client.read_head().status == 200);
        for (int i = 0; i < 7; ++i) CHECK(text_of(client.read_event().parsed()).size() == std::stoul(size));
        CHECK(client.read_event().parsed().at("id") == 4);
        CHECK(client.read_event().ended);
    }
}

TEST_CASE("a client that takes JSON only is spared the notifications")
{
    http_fixture server;
    auto id = server.open_session();
    auto fields = in_session(id) + "Accept: application/json\r\n";
    auto answer = request(server, post("/mcp", call(3, "chat", R"({"count":5,"size":300000})"), fields));
    CHECK(answer.parsed().at("id") == 3);
}

TEST_CASE("notifications are answered with 202 and nothing")
{
    http_fixture server;
    auto id = server.open_session();
    auto answer = request(
        server, post("/mcp", R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}})",
                     in_session(id)));
    CHECK(answer.status == 202);
    CHECK(answer.body.empty());
}

TEST_CASE("messages arrive while the call runs")
{
    http_fixture server;
    auto id = server.open_session();
    raw_client client(server.port());
    client.send(post("/mcp", call(3, "talk_and_wait"), in_session(id)));
    auto head = client.read_head();
    CHECK(head.field("content-type") == "text/event-stream");
    CHECK(head.field("cache-control") == "no-cache, no-transform");
    CHECK(head.field("x-accel-buffering") == "no");
    CHECK(text_of(client.read_event().parsed()) == "before");
    CHECK(server.probe().finished == 0);
    server.release();
    CHECK(text_of(client.read_event().parsed()) == "after");
    CHECK(client.read_event().parsed().at("id") == 3);
    CHECK(client.read_event().ended);
    CHECK(client.request(post("/mcp", call(4, "echo"), in_session(id))).status == 200);
}

TEST_CASE("a silent stream gets comments")
{
    auto config = http_fixture::quick_settings();
    config.keep_alive = 20ms;
    http_fixture server(config);
    auto id = server.open_session();
    raw_client client(server.port());
    client.send(post("/mcp", call(3, "wait"), in_session(id)));
    CHECK(client.read_head().field("content-type") == "text/event-stream");
    CHECK(client.read_comment() == ": keep-alive");
    CHECK(client.read_comment() == ": keep-alive");
    server.release();
    CHECK(client.read_event().parsed().at("id") == 3);
}

TEST_CASE("batches are for 2025-03-26 and their responses are gathered")
{
    http_fixture server;
    auto id = server.open_session("2025-03-26");
    auto body = "[" + call(1, "echo") + "," + call(2, "echo") + R"(,{"jsonrpc":"2.0","method":"notifications/x"}])";
    auto answer = request(server, post("/mcp", body, in_session(id)));
    CHECK(answer.status == 200);
    CHECK(answer.parsed().as_array().size() == 2);
    auto newer = server.open_session("2025-06-18");
    CHECK(request(server, post("/mcp", body, in_session(newer))).status == 400);
}

TEST_CASE("a bad member of a batch is answered beside the others")
{
    http_fixture server;
    const auto id = server.open_session("2025-03-26");
    const std::string body = "[" + call(1, "echo") +
                             R"(,{"jsonrpc":"2.0","id":"x"},{"jsonrpc":"2.0","id":7,"method":"a\ud800"},)" +
                             call(2, "echo") + "]";
    const auto answer = request(server, post("/mcp", body, in_session(id)));
    CHECK(answer.status == 200);
    std::map<std::string, bool> failed;
    const auto answers = answer.parsed();
    for (const auto& each : answers.as_array())
        failed[json::serialize(each.at("id"))] = each.as_object().contains("error");
    CHECK(failed == std::map<std::string, bool>{{"1", false}, {"\"x\"", true}, {"7", true}, {"2", false}});
}

TEST_CASE("a request that cannot be parsed is refused under its id, and a byte order mark is read over")
{
    http_fixture server;
    const auto id = server.open_session();
    const auto broken = request(
        server, post("/mcp", R"({"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":"\ud800"}})", in_session(id)));
    CHECK(broken.status == 400);
    CHECK(broken.parsed().at("id") == 5);
    const auto marked = request(server, post("/mcp",
                                             "\xef\xbb\xbf"
                                             R"({"jsonrpc":"2.0","id":6.0,"method":"ping","params":[]})",
                                             in_session(id)));
    CHECK(marked.status == 200);
    CHECK(marked.parsed().at("id") == 6);
}

TEST_CASE("two lines of Accept are one list")
{
    http_fixture server;
    const auto id = server.open_session();
    raw_client client(server.port());
    const auto body = call(3, "talk_and_wait");
    client.send(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json\r\n" +
        in_session(id) + "Accept: text/event-stream\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
        body);
    CHECK(client.read_head().field("content-type") == "text/event-stream");
    CHECK(text_of(client.read_event().parsed()) == "before");
    server.release();
}

TEST_CASE("a deleted session is gone and its requests end")
{
    http_fixture server;
    auto id = server.open_session();
    raw_client waiting(server.port());
    waiting.send(post("/mcp", call(3, "wait"), in_session(id)));
    REQUIRE(eventually([&] { return server.probe().started == 1; }));
    CHECK(request(server, "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n" + in_session(id) + "\r\n").status == 204);
    CHECK(eventually([&] { return server.probe().cancelled == 1; }));
    CHECK(waiting.read().status == 202);
    const auto gone = request(server, post("/mcp", call(4, "echo"), in_session(id)));
    CHECK(gone.status == 404);
    CHECK(gone.parsed().at("error").at("code") == rpc_code::session_not_found);
    CHECK(gone.parsed().at("error").at("message") ==
          "Session not found: it has ended or expired; send initialize again.");
    for (const auto* method : {"GET", "DELETE"}) {
        const auto answer =
            request(server, method + (" /mcp HTTP/1.1\r\nHost: localhost\r\n" + in_session(id) + "\r\n"));
        CHECK(answer.status == 404);
        CHECK(answer.body == gone.body);
    }
}

TEST_CASE("an older revision's request runs on when its client leaves, and the missed events can be had")
{
    http_fixture server;
    auto id = server.open_session();
    std::string last;
    {
        raw_client client(server.port());
        client.send(post("/mcp", call(3, "talk_and_wait"), in_session(id)));
        client.read_head();
        last = client.read_event().id;
    }
    REQUIRE_FALSE(last.empty());
    auto other = request(server, post("/mcp", call(5, "chat", R"({"count":1,"size":10})"), in_session(id)));
    CHECK(other.status == 200);
    server.release();
    CHECK(eventually([&] { return server.probe().finished == 2; }));
    raw_client client(server.port());
    client.send(get("/mcp", in_session(id) + "Last-Event-ID: " + last + "\r\n"));
    CHECK(client.read_head().status == 200);
    CHECK(text_of(client.read_event().parsed()) == "after");
    CHECK(client.read_event().parsed().at("id") == 3);
    CHECK(client.read_event().ended);
}

TEST_CASE("a stream that is resumed while the request runs goes on live")
{
    http_fixture server;
    auto id = server.open_session();
    raw_client first(server.port());
    first.send(post("/mcp", call(3, "talk_and_wait"), in_session(id)));
    first.read_head();
    auto last = first.read_event().id;
    first.close();
    raw_client client(server.port());
    client.send(get("/mcp", in_session(id) + "Last-Event-ID: " + last + "\r\n"));
    CHECK(client.read_head().status == 200);
    server.release();
    CHECK(text_of(client.read_event().parsed()) == "after");
    CHECK(client.read_event().parsed().at("id") == 3);
    CHECK(client.read_event().ended);
}

TEST_CASE("an id of another session or nonsense is refused")
{
    http_fixture server;
    auto mine = server.open_session();
    auto theirs = server.open_session();
    request(server, post("/mcp", call(5, "chat", R"({"count":2,"size":10})"), in_session(theirs)));
    for (auto last : {"1-1", "2-1", "7-1", "nonsense", "0-9", "0-99999999999999999999", "-", "1-1,2-1"}) {
        const auto fields = in_session(mine) + "Last-Event-ID: " + std::string(last) + "\r\n";
        const auto refused = request(server, get("/mcp", fields));
        INFO(last);
        CHECK(refused.status == 400);
        CHECK(refused.parsed().at("error").at("code") == rpc_code::server_error);
    }
    raw_client client(server.port());
    client.send(get("/mcp", in_session(mine) + "Last-Event-ID: 0-0\r\n"));
    CHECK(client.read_head().status == 200);
}

TEST_CASE("a client that comes back for a response that is gone is told so once")
{
    auto config = http_fixture::quick_settings();
    config.event_log_bytes = 3000;
    http_fixture server(config);
    auto id = server.open_session("2025-11-25");
    std::string last;
    {
        raw_client client(server.port());
        client.send(post("/mcp", call(3, "talk_and_wait"), in_session(id)));
        client.read_head();
        client.read_event();
        last = client.read_event().id;
    }
    server.release();
    REQUIRE(eventually([&] { return server.probe().finished == 1; }));
    request(server, post("/mcp", call(5, "chat", R"({"count":20,"size":500})"), in_session(id)));
    raw_client client(server.port());
    client.send(get("/mcp", in_session(id) + "Last-Event-ID: " + last + "\r\n"));
    CHECK(client.read_head().status == 200);
    const auto lost = client.read_event();
    CHECK(lost.parsed().at("id") == 3);
    CHECK(lost.parsed().at("error").at("data").at("type") == "ResponseLost");
    CHECK(client.read_event().ended);
    const auto again = request(server, get("/mcp", in_session(id) + "Last-Event-ID: " + lost.id + "\r\n"));
    CHECK(again.status == 400);
}

TEST_CASE("two clients of one session that come back whenever their stream ends do not end each other's for ever")
{
    auto config = http_fixture::quick_settings();
    config.keep_alive = 20ms;
    http_fixture server(config);
    auto id = server.open_session();
    const auto open = [&](raw_client& client) {
        client.send(get("/mcp", in_session(id)));
        CHECK(client.read_head().status == 200);
    };
    raw_client first(server.port()), second(server.port());
    open(first);
    open(second);
    CHECK(first.read_event().ended);
    {
        raw_client again(server.port());
        open(again);
        for (int i = 0; i < 3; ++i) {
            CHECK(second.read_comment() == ": keep-alive");
            CHECK(again.read_comment() == ": keep-alive");
        }
    }
    CHECK(second.read_event().ended);  // there is room for it now
    raw_client last(server.port());
    open(last);
    auto deleted = request(server, "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n" + in_session(id) + "\r\n");
    CHECK(deleted.status == 204);
    CHECK(last.read_event().ended);
}

TEST_CASE("a second GET takes the place of the first")
{
    http_fixture server;
    auto id = server.open_session();
    raw_client first(server.port());
    first.send(get("/mcp", in_session(id)));
    CHECK(first.read_head().status == 200);
    raw_client second(server.port());
    second.send(get("/mcp", in_session(id)));
    CHECK(second.read_head().status == 200);
    CHECK(first.read_event().ended);
    auto deleted = request(server, "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n" + in_session(id) + "\r\n");
    CHECK(deleted.status == 204);
    CHECK(second.read_event().ended);
}

TEST_CASE("streams of 2025-11-25 begin with an id, and a call can send its client away to poll")
{
    http_fixture server;
    auto id = server.open_session("2025-11-25");
    raw_client client(server.port());
    client.send(post("/mcp", call(3, "poll"), in_session(id)));
    client.read_head();
    auto priming = client.read_event();
    CHECK_FALSE(priming.id.empty());
    CHECK(priming.data.empty());
    CHECK_FALSE(priming.retry.empty());
    auto before = client.read_event();
    CHECK(text_of(before.parsed()) == "before");
    CHECK(client.read_event().ended);
    CHECK(server.probe().finished == 0);
    server.release();
    raw_client again(server.port());
    again.send(get("/mcp", in_session(id) + "Last-Event-ID: " + before.id + "\r\n"));
    CHECK(again.read_head().status == 200);
    CHECK(text_of(again.read_event().parsed()) == "after");
    CHECK(again.read_event().parsed().at("id") == 3);
}

TEST_CASE("a 2025-11-25 call that is silent for long can be resumed before its first message")
{
    auto config = http_fixture::quick_settings();
    config.keep_alive = 50ms;
    http_fixture server(config);
    auto id = server.open_session("2025-11-25");
    raw_client client(server.port());
    client.send(post("/mcp", call(3, "wait"), in_session(id)));
    client.read_head();
    auto priming = client.read_event();
    client.close();
    server.release();
    raw_client again(server.port());
    again.send(get("/mcp", in_session(id) + "Last-Event-ID: " + priming.id + "\r\n"));
    again.read_head();
    CHECK(again.read_event().parsed().at("id") == 3);
    CHECK(again.read_event().ended);
}

TEST_CASE("a client that does not read is cut and its stream stays bounded")
{
    auto config = http_fixture::quick_settings();
    config.write_timeout = 100ms;
    config.event_log_bytes = 100'000;
    http_fixture server(config);
    auto id = server.open_session();
    raw_client client(server.port(), 4096);
    client.send(post("/mcp", call(3, "chat", R"({"count":3000,"size":10000})"), in_session(id)));
    REQUIRE(eventually([&] { return server.probe().sent > 10; }));
    // The full stream holds back the tool until the deadline cuts the client, and the tool then ends.
    CHECK(eventually([&] { return server.probe().finished == 1; }));
    CHECK(server.probe().sent == 3000);
    CHECK(eventually([&] { return server.health().at("connections") == 1; }));
}

TEST_CASE("sessions belong to the principal that made them")
{
    auto config = http_fixture::quick_settings();
    config.auth_tokens = {{"anna", "one"}, {"ben", "two"}};
    http_fixture server(config);
    auto body =
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})";
    auto begun = request(server, post("/mcp", body, "Authorization: Bearer one\r\n"));
    auto id = begun.field("mcp-session-id");
    REQUIRE(handle_maker::fits("ses", id));
    auto ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
    CHECK(request(server, post("/mcp", ping, in_session(id) + "Authorization: Bearer one\r\n")).status == 200);
    CHECK(request(server, post("/mcp", ping, in_session(id) + "Authorization: Bearer two\r\n")).status == 404);
    auto nobody = request(server, post("/mcp", ping, in_session(id)));
    CHECK(nobody.status == 401);
    CHECK(nobody.field("www-authenticate") == "Bearer");
    CHECK(request(server, get("/nothing")).status == 404);
}

TEST_CASE("a full server says when to come back")
{
    auto config = http_fixture::quick_settings();
    config.max_sessions_per_address = 1;
    http_fixture server(config);
    server.open_session();
    auto body =
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})";
    auto refused = request(server, post("/mcp", body));
    CHECK(refused.status == 429);
    CHECK_FALSE(refused.field("retry-after").empty());
}

TEST_CASE("idle sessions expire")
{
    auto config = http_fixture::quick_settings();
    config.session_timeout = 80ms;
    http_fixture server(config);
    auto id = server.open_session();
    CHECK(eventually([&] { return server.health().at("sessions") == 0; }));
    CHECK(request(server, post("/mcp", call(1, "echo"), in_session(id))).status == 404);
}

TEST_CASE("a session goes on in the next process of the server, until it is ended")
{
    temporary_folder folder;
    const auto file = folder.path / "sessions.sqlite";
    std::string id, ended;
    const std::string removal = "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n";
    {
        http_fixture server(http_fixture::quick_settings(), {}, keeping(file));
        id = server.open_session("2025-03-26");
        ended = server.open_session("2025-11-25");
        CHECK(request(server, removal + in_session(ended) + "\r\n").status == 204);
    }
    struct stat status {};
    REQUIRE(::stat(file.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    CHECK(session_records(file).all().size() == 1);
    for (int i = 0; i < 2; ++i) {
        http_fixture server(http_fixture::quick_settings(), {}, keeping(file));
        CHECK(request(server, post("/mcp", call(1, "echo"), in_session(ended))).status == 404);
        const auto batch = request(server, post("/mcp", "[" + call(1, "echo") + "]", in_session(id)));
        CHECK(batch.status == 200);  // of its revision
        CHECK(batch.parsed().as_array().size() == 1);
        const auto resumed = request(server, get("/mcp", in_session(id) + "Last-Event-ID: 1-1\r\n"));
        CHECK(resumed.status == 400);
        raw_client client(server.port());
        client.send(get("/mcp", in_session(id) + "Last-Event-ID: 0-7\r\n"));
        CHECK(client.read_head().status == 200);
    }
    {
        http_fixture server(http_fixture::quick_settings(), {}, keeping(file));
        CHECK(request(server, removal + in_session(id) + "\r\n").status == 204);
    }
    http_fixture server(http_fixture::quick_settings(), {}, keeping(file));
    CHECK(request(server, post("/mcp", call(1, "echo"), in_session(id))).status == 404);
    CHECK(session_records(file).all().empty());
}

TEST_CASE("a session of a former process is found by its own principal only")
{
    temporary_folder folder;
    const auto file = folder.path / "sessions.sqlite";
    auto config = http_fixture::quick_settings();
    config.auth_tokens = {{"anna", "one"}, {"ben", "two"}};
    std::string id;
    {
        http_fixture server(config, {}, keeping(file));
        id = request(server, post("/mcp", initialize_2025, as("one"))).field("mcp-session-id");
    }
    http_fixture server(config, {}, keeping(file));
    const auto ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
    CHECK(request(server, post("/mcp", ping, in_session(id) + as("two"))).status == 404);
    CHECK(request(server, post("/mcp", ping, in_session(id) + as("one"))).status == 200);
}

TEST_CASE("a session that was unused for too long does not come back, nor does one whose record is bad")
{
    temporary_folder folder;
    const auto file = folder.path / "sessions.sqlite";
    auto config = http_fixture::quick_settings();
    config.session_timeout = std::chrono::hours(1);
    const auto now = static_cast<double>(::time(nullptr));
    const std::string state = R"({"revision":"2025-06-18","capabilities":{},"client":{},"log_level":"info"})";
    session_record good{sha256_hex("ses_good"), "", "127.0.0.1", "", state, now - 9000, now - 3000, 2};
    auto expired = good, bad = good;
    expired.digest = sha256_hex("ses_expired");
    expired.last_used = now - 4000;
    bad.digest = sha256_hex("ses_bad");
    bad.state = R"({"revision":"2030-01-01"})";
    session_records(file).write({good, expired, bad}, {});
    http_fixture server(config, {}, keeping(file));
    const auto status_of = [&](std::string_view id) {
        return request(server, post("/mcp", call(1, "echo"), in_session(id))).status;
    };
    CHECK(status_of("ses_good") == 200);
    CHECK(status_of("ses_expired") == 404);
    CHECK(status_of("ses_bad") == 404);
    server.stop();
    const auto left = session_records(file).all();
    REQUIRE(left.size() == 1);
    CHECK(left.front().digest == good.digest);
    CHECK(left.front().starts == 3);
    CHECK(left.front().last_used > now - 100);
}

TEST_CASE("sessions of former processes count towards the limit, and give way to new ones")
{
    temporary_folder folder;
    const auto file = folder.path / "sessions.sqlite";
    auto config = http_fixture::quick_settings();
    config.max_sessions_per_address = 3;
    std::vector<std::string> ids;
    for (int i = 0; i < 3; ++i) {
        http_fixture server(config, {}, keeping(file));
        ids.push_back(server.open_session());
        ids.push_back(server.open_session());
    }
    CHECK(session_records(file).all().size() == 3);
    http_fixture server(config, {}, keeping(file));
    CHECK(request(server, post("/mcp", call(1, "echo"), in_session(ids.back()))).status == 200);
    CHECK(request(server, post("/mcp", call(1, "echo"), in_session(ids.front()))).status == 404);
}

TEST_CASE("a server whose file of sessions cannot be used serves all the same")
{
    temporary_folder folder;
    http_fixture server(http_fixture::quick_settings(), {}, keeping(folder.path / "none" / "sessions.sqlite"));
    CHECK(request(server, post("/mcp", call(1, "echo"), in_session(server.open_session()))).status == 200);
}
