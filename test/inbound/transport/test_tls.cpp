#include "config/settings.hpp"
#include "test/inbound/transport/http_fixture.hpp"
#include "test/support/catch.hpp"
#include "test/support/certificates.hpp"
#include "test/support/log_lines.hpp"
#include "test/support/tls_peer.hpp"

#include <netinet/tcp.h>

#include <utility>
#include <vector>

namespace cmcp::test {

namespace {

using namespace std::chrono_literals;

/// A server that speaks TLS, with an authority for it and its clients.
struct tls_server {
    explicit tls_server(void (*change)(settings&) = nullptr, bool asks_clients = false)
        : authority(files.authority("ca", "an authority")),
          own(files.signed_by(authority, "own", "localhost")),
          server(settings_of(change, asks_clients))
    {
    }

    settings settings_of(void (*change)(settings&), bool asks_clients) const
    {
        auto config = http_fixture::quick_settings();
        config.tls_cert = own.certificate;
        config.tls_key = own.key;
        if (asks_clients) config.tls_client_ca = authority.certificate;
        if (change != nullptr) change(config);
        return config;
    }

    tls_peer peer(const tls_peer::terms& terms = {}) { return tls_peer(connected_to(server.port()), terms); }

    certificates files;
    certificates::pair authority, own;
    http_fixture server;
};

std::string echo(std::string_view text, std::string_view extra = {})
{
    return post("/mcp", call_2026(1, "echo", R"({"text":")" + std::string(text) + "\"}"),
                headers_2026("echo") + std::string(extra));
}

std::string begin_wait() { return post("/mcp", call_2026(1, "wait", "{}"), headers_2026("wait")); }

void resume_with(SSL* connection, int (*keep)(SSL*, SSL_SESSION*))
{
    SSL_CTX* context = ::SSL_get_SSL_CTX(connection);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    ::SSL_CTX_sess_set_new_cb(context, keep);
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("over TLS a call is answered on a connection that is kept, and says that HTTPS is meant to stay")
{
    tls_server over;
    auto client = over.peer({.alpn = "http/1.1"});
    REQUIRE(client.connected());
    const unsigned char* protocol = nullptr;
    unsigned size = 0;
    ::SSL_get0_alpn_selected(client.ssl(), &protocol, &size);
    CHECK(std::string(reinterpret_cast<const char*>(protocol), size) == "http/1.1");
    for (const std::string text : {"one", "two"}) {
        client.send(echo(text));
        const auto answer = client.answer();
        CHECK(answer.starts_with("HTTP/1.1 200"));
        CHECK(contains(answer, "\"text\":\"" + text));
        CHECK_FALSE(contains(answer, "Strict-Transport-Security"));  // of localhost other ports would be locked out
    }
    client.send("GET /livez HTTP/1.1\r\nHost: mcp.example.org\r\n\r\n");
    CHECK(contains(client.answer(), "Strict-Transport-Security: max-age="));
}

TEST_CASE("over TLS a body of many records is taken")
{
    tls_server over;
    auto client = over.peer();
    REQUIRE(client.connected());
    REQUIRE(client.send(echo(std::string(3'000'000, 'x'))));
    CHECK(client.answer().starts_with("HTTP/1.1 200"));
}

TEST_CASE("over TLS a client that reads late gets all, in order")
{
    constexpr int many = 60, small_buffer = 4096;
    tls_server over;
    tls_peer client(connected_to(over.server.port(), small_buffer));
    REQUIRE(client.connected());
    const auto text_of = [](int i) { return std::to_string(i) + std::string(15'000, 'x') + "."; };
    for (int i = 0; i < many; ++i) REQUIRE(client.send(echo(text_of(i))));
    for (int i = 0; i < many; ++i) {
        INFO(i);
        CHECK(contains(client.until(text_of(i)), text_of(i)));
    }
}

TEST_CASE("over TLS requests that come at once in one record are answered one after the other")
{
    tls_server over;
    auto client = over.peer();
    REQUIRE(client.connected());
    client.send(echo("one") + echo("two") + echo("three"));
    for (const auto* text : {"one", "two", "three"}) {
        const auto heard = client.until(std::string("\"text\":\"") + text);
        CHECK(contains(heard, text));
        if (contains(heard, "three")) break;
    }
}

TEST_CASE("a client that ends its TLS connection in any way cancels what it waits for")
{
    tls_server over;
    auto& probe = over.server.probe();
    int cancelled = 0;
    for (const auto end : {&tls_peer::say_end, &tls_peer::close, &tls_peer::reset}) {
        auto client = over.peer();
        REQUIRE(client.connected());
        client.send(begin_wait());
        REQUIRE(eventually([&] { return probe.started == cancelled + 1; }));
        (client.*end)();
        ++cancelled;
        CHECK(eventually([&] { return probe.cancelled == cancelled; }));
    }
}

TEST_CASE("an end that comes in the same piece as the request cancels it, too")
{
    tls_server over;
    auto client = over.peer();
    REQUIRE(client.connected());
    const int cork = 1, let_go = 0;
    ::setsockopt(client.socket(), IPPROTO_TCP, TCP_CORK, &cork, sizeof cork);
    client.send(begin_wait());
    client.say_end();  // no FIN follows: the socket tells nothing more
    ::setsockopt(client.socket(), IPPROTO_TCP, TCP_CORK, &let_go, sizeof let_go);
    CHECK(eventually([&] { return over.server.probe().cancelled == 1; }));
}

TEST_CASE("a stream of events goes over TLS")
{
    tls_server over;
    auto client = over.peer();
    REQUIRE(client.connected());
    client.send("GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n");
    CHECK(contains(client.until("sessionId="), "text/event-stream"));
    client.close();
}

TEST_CASE("plain HTTP on a port of TLS is told so, and other bytes are not answered")
{
    tls_server over;
    const auto answer = request(over.server, get("/healthz"));
    CHECK(answer.status == 400);
    CHECK(contains(answer.body, "https://"));
    raw_client stranger(over.server.port());
    stranger.send("\x01\x02\x03\x04");
    CHECK(stranger.closed());
}

TEST_CASE("TLS 1.2 is spoken only where TLS_MIN allows it")
{
    CHECK_FALSE(tls_server().peer({.newest = TLS1_2_VERSION}).connected());
    tls_server lax([](settings& config) { config.tls_min = "1.2"; });
    auto client = lax.peer({.newest = TLS1_2_VERSION});
    REQUIRE(client.connected());
    client.send(echo("old"));
    CHECK(contains(client.answer(), "old"));
    CHECK_FALSE(lax.peer({.newest = TLS1_1_VERSION}).connected());
}

TEST_CASE("a client that offers only other protocols is refused")
{
    tls_server over;
    CHECK_FALSE(over.peer({.alpn = "h2"}).connected());
}

TEST_CASE("a handshake that is not finished in time is cut, also one that comes byte by byte")
{
    tls_server over([](settings& config) { config.header_timeout = 300ms; });
    raw_client silent(over.server.port()), slow(over.server.port());
    CHECK(silent.closed());
    slow.send(std::string_view("\x16\x03\x01\x02\x00\x01", 6));
    CHECK(slow.closed());
}

TEST_CASE("a session is resumed with its ticket")
{
    static SSL_SESSION* last_session = nullptr;
    tls_server over;
    {
        auto client = over.peer();
        REQUIRE(client.connected());
        resume_with(client.ssl(), [](SSL*, SSL_SESSION* session) {
            last_session = session;
            return 1;
        });
        client.send(echo("one"));
        CHECK(contains(client.answer(), "one"));
        client.say_end();  // OpenSSL resumes no session that was broken off
    }
    REQUIRE(last_session != nullptr);
    auto again = over.peer({.resumes = last_session});
    CHECK(again.connected());
    CHECK(SSL_session_reused(again.ssl()) == 1);
    ::SSL_SESSION_free(std::exchange(last_session, nullptr));
}

TEST_CASE("connections in handshake count as connections")
{
    tls_server over([](settings& config) { config.max_connections = 2; });
    const auto first = connected_to(over.server.port()), second = connected_to(over.server.port());
    REQUIRE(eventually([&] {
        tls_peer third(connected_to(over.server.port()));
        return !third.connected();
    }));
}

TEST_CASE("a server that stops does not wait for handshakes")
{
    tls_server over([](settings& config) { config.drain_timeout = 60s; });
    const auto silent = connected_to(over.server.port()), slow = connected_to(over.server.port());
    REQUIRE(::send(slow.get(), "\x16\x03\x01", 3, MSG_NOSIGNAL) == 3);
    const auto begun = std::chrono::steady_clock::now();
    over.server.stop();
    CHECK(std::chrono::steady_clock::now() - begun < 8s);  // a handshake has 10 s
}

TEST_CASE("a client without a certificate is refused where one is required, and one of a strange authority everywhere")
{
    tls_server required([](settings& config) { config.tls_client_auth = "require"; }, true);
    const auto ann = required.files.signed_by(required.authority, "ann", "ann", "URI:spiffe://example.org/ann");
    auto bare = required.peer();
    bare.send(echo("x"));  // in TLS 1.3 a client learns of the refusal when it reads
    CHECK(bare.answer().empty());
    auto known = required.peer({.certificate = ann});
    REQUIRE(known.connected());
    known.send(echo("x"));
    CHECK(known.answer().starts_with("HTTP/1.1 200"));
    const auto strange = required.files.authority("strange", "a stranger");
    const auto eve = required.files.signed_by(strange, "eve", "ann", "URI:spiffe://example.org/ann");
    auto impostor = required.peer({.certificate = eve});
    impostor.send(echo("x"));
    CHECK(impostor.answer().empty());
    const auto late = required.files.signed_by(required.authority, "late", "ann", "DNS:ann", 1);
    auto former = required.peer({.certificate = late});
    former.send(echo("x"));
    CHECK(former.answer().empty());
}

TEST_CASE("a verified certificate takes the place of a token, and a token that comes along counts")
{
    const log_lines log;
    tls_server accepted(
        [](settings& config) {
            config.tls_client_auth = "accept";
            config.auth_tokens = {{"bob", "secret-of-bob-012345"}};
        },
        true);
    const auto ann = accepted.files.signed_by(accepted.authority, "ann", "ann", "");
    auto known = accepted.peer({.certificate = ann}), bare = accepted.peer();
    known.send(echo("x"));
    CHECK(known.answer().starts_with("HTTP/1.1 200"));
    known.send(echo("x", "Authorization: Bearer secret-of-bob-012345\r\n"));
    CHECK(known.answer().starts_with("HTTP/1.1 200"));
    known.send(echo("x", "Authorization: Bearer wrong\r\n"));
    CHECK(known.answer().starts_with("HTTP/1.1 401"));
    bare.send(echo("x"));
    CHECK(bare.answer().starts_with("HTTP/1.1 401"));
    const auto calls = log.of("tool_call");
    REQUIRE(calls.size() == 2);
    CHECK(member_text(calls[0], "principal") == "ann");
    CHECK(member_text(calls[1], "principal") == "bob");
}

TEST_CASE("a trusted proxy tells the client before the handshake")
{
    const log_lines log;
    tls_server trusting([](settings& config) {
        config.trusted_proxies = {"127.0.0.1"};
        config.auth_tokens = {{"bob", "secret-of-bob-012345"}};
    });
    const std::string header = "PROXY TCP4 192.0.2.77 127.0.0.1 4096 443\r\n";
    auto socket = connected_to(trusting.server.port());
    for (const char each : header) REQUIRE(::send(socket.get(), &each, 1, MSG_NOSIGNAL) == 1);
    tls_peer through(std::move(socket));
    REQUIRE(through.connected());
    through.send(echo("x"));
    CHECK(through.answer().starts_with("HTTP/1.1 401"));
    CHECK(member_text(log.only("login_refused"), "peer") == "192.0.2.77");
    auto direct = trusting.peer();
    CHECK(direct.connected());  // the header may be missing
}

TEST_CASE("a PROXY header of others is taken for plain HTTP on a port of TLS")
{
    tls_server over;
    raw_client stranger(over.server.port());
    CHECK(stranger.request("PROXY TCP4 192.0.2.77 127.0.0.1 4096 443\r\n" + get("/healthz")).status == 400);
}

TEST_CASE("without TLS a trusted proxy tells the client, too, and a bad header ends the connection")
{
    const log_lines log;
    auto config = http_fixture::quick_settings();
    config.trusted_proxies = {"127.0.0.1"};
    config.auth_tokens = {{"bob", "secret-of-bob-012345"}};
    http_fixture server(config);
    const auto refused_peers = [&] {
        std::vector<std::string> peers;
        for (const auto& line : log.of("login_refused")) peers.push_back(member_text(line, "peer"));
        return peers;
    };
    const std::string local("\r\n\r\n\0\r\nQUIT\n\x20\0\0\0", 16);
    const std::string first = "PROXY TCP6 2001:db8::1 ::1 1 2\r\n";
    const std::string unknown = "PROXY UNKNOWN\r\n";
    for (const auto& header : {first, local, unknown, std::string()})
        CHECK(request(server, header + post("/mcp", "{}", "X-Forwarded-For: 192.0.2.9\r\n")).status == 401);
    CHECK(request(server, unknown + post("/mcp", "{}")).status == 401);
    CHECK(refused_peers() == std::vector<std::string>{"2001:db8::1", "unknown", "unknown", "192.0.2.9", "unknown"});

    raw_client bad(server.port());
    bad.send("PROXY TCP4 nonsense\r\n" + get("/healthz"));
    CHECK(bad.closed());
    CHECK(member_text(log.only("proxy_header_refused"), "peer") == "127.0.0.1");
    raw_client slow(server.port());  // the first letters may become a header
    slow.send("P");
    slow.send("OST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
    CHECK(slow.read().status == 404);
}

}  // namespace cmcp::test
