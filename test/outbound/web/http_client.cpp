#include "test/outbound/web/client_stage.hpp"
#include "test/outbound/web/packed.hpp"

#include <filesystem>
#include <fstream>

using namespace cmcp;
using namespace cmcp::test;
using namespace std::chrono_literals;

namespace {

void briefly(fetch_request& request) { request.timeout = 300ms; }

struct temporary_file {
    explicit temporary_file(const std::string& content)
    {
        std::string name = "/tmp/cmcp-ca-XXXXXX";
        ::close(::mkstemp(name.data()));
        path = name;
        std::ofstream(path) << content;
    }
    temporary_file(const temporary_file&) = delete;
    temporary_file& operator=(const temporary_file&) = delete;
    ~temporary_file() { std::filesystem::remove(path); }
    std::filesystem::path path;
};

/// A client that trusts one authority, and a server over TLS with a certificate.
struct tls_stage {
    explicit tls_stage(const test_ca& of, bool trusted = true)
        : context(of.server_context()), file(of.authority_pem), stage(trusted ? file.path : "")
    {
        secure.on("/", send(answer("over TLS")));
        stage.policy = rules({"*"}, {secure.authority(), "localhost"});
    }
    asio::ssl::context context;
    temporary_file file;
    client_stage stage;
    origin secure{stage.io, &context};
};

}  // namespace

TEST_CASE("a page is fetched with its type and charset, and each step is told")
{
    client_stage s;
    s.web.on("/page", send(answer("<p>text", "Text/HTML; Charset=\"ISO-8859-1\"")));
    const auto reply = s.get(s.web.url("/page?q=1#part"));
    CHECK(reply.body == "<p>text");
    CHECK(reply.status == 200);
    CHECK(reply.type == "text/html");
    CHECK(reply.charset == "ISO-8859-1");
    CHECK(reply.url.text() == s.web.url("/page?q=1#part"));
    REQUIRE(s.steps.size() >= 3);
    CHECK(s.steps[0] == "connecting to 127.0.0.1");
    CHECK(s.steps[1] == "waiting for 127.0.0.1");
    CHECK(s.steps[2] == "receiving");
    const std::string& sent = s.web.requests.at(0);
    CHECK(has(sent, "GET /page?q=1 HTTP/1.1\r\n"));
    CHECK(has(sent, "Host: " + s.web.authority() + "\r\n"));
    CHECK(has(sent, "Accept-Encoding: gzip, deflate, br, zstd\r\n"));
    for (const char* word : {"Authorization", "Cookie", "Referer", "Proxy"}) CHECK_FALSE(has(sent, word));
}

TEST_CASE("connections are used again, and a stale one is replaced")
{
    client_stage s;
    s.web.on("/a", send(answer("a")));
    s.web.on("/last", {{step::kind::send, answer("b"), {}}, {step::kind::close, {}, {}}});
    CHECK(s.get(s.web.url("/a")).body == "a");
    CHECK(s.get(s.web.url("/a")).body == "a");
    CHECK(s.web.connections == 1);
    CHECK(s.get(s.web.url("/last")).body == "b");
    CHECK(s.web.connections == 1);
    CHECK(s.get(s.web.url("/a")).body == "a");
    CHECK(s.web.connections == 2);
    const auto other = s.policy;
    s.policy = rules({"*"}, {s.web.authority()});
    CHECK(s.get(s.web.url("/a")).body == "a");
    CHECK(s.web.connections == 3);
}

TEST_CASE("a client without threads to unpack on asks for what is not packed, and refuses what is")
{
    client_stage s;
    http_client plain(s.io.get_executor(), {});
    s.web.on("/gzip", send(answer(gzip("zipped"), "text/html", "Content-Encoding: gzip\r\n")));
    fetch_request request;
    request.url = web_url::parse(s.web.url("/gzip"));
    auto ticket = std::make_shared<egress_ticket>("test", s.policy, egress_limits());
    std::string problem;
    try {
        run_coroutine(s.io, plain.get(std::move(ticket), std::move(request)));
    } catch (const fetch_error& failure) {
        problem = failure.what();
    }
    CHECK(has(problem, "which was not asked for"));
    CHECK(has(s.web.requests.back(), "Accept-Encoding: identity\r\n"));
}

TEST_CASE("gzip, deflate, brotli and chunks are undone")
{
    client_stage s;
    s.web.on("/gzip", send(answer(gzip("zipped"), "text/html", "Content-Encoding: gzip\r\n")));
    s.web.on("/br", send(answer(brotli("brotlied"), "text/html", "Content-Encoding: br\r\n")));
    s.web.on("/chunked",
             send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"));
    s.web.on("/until-close", {{step::kind::send, "HTTP/1.0 200 OK\r\n\r\nall", {}}, {step::kind::close, {}, {}}});
    s.web.on("/hints", send("HTTP/1.1 103 Early Hints\r\n\r\n" + answer("after hints")));
    s.web.on("/none", send("HTTP/1.1 204 No Content\r\n\r\n"));
    CHECK(s.get(s.web.url("/gzip")).body == "zipped");
    CHECK(s.get(s.web.url("/br")).body == "brotlied");
    CHECK(s.get(s.web.url("/chunked")).body == "abcdefg");
    CHECK(s.get(s.web.url("/until-close")).body == "all");
    CHECK(s.get(s.web.url("/hints")).body == "after hints");
    CHECK(s.get(s.web.url("/none")).body.empty());
    CHECK(s.get(s.web.url("/missing")).status == 404);
}

TEST_CASE("a cookie of a redirect is sent where it belongs, within one fetch")
{
    client_stage s;
    s.web.answers = [](const std::string& request) {
        const bool has_both = has(request, "Cookie: a=1; b=2\r\n");
        if (has(request, "GET /wall ") && has_both) return send(answer("let in"));
        const std::string set = has(request, "GET /wall ") ? "Set-Cookie: a=1; Path=/\r\nSet-Cookie: gone=1; Path=/\r\n"
                                                           : "Set-Cookie: b=2; Path=/\r\nSet-Cookie: gone=; Path=/; "
                                                             "Max-Age=0\r\nSet-Cookie: far=1; Domain=example.com\r\n";
        const std::string to = has(request, "GET /wall ") ? "/next" : "/wall";
        return send("HTTP/1.1 303 See Other\r\n" + set + "Location: " + to + "\r\nContent-Length: 0\r\n\r\n");
    };
    CHECK(s.get(s.web.url("/wall")).body == "let in");
    CHECK(s.web.requests.size() == 3);
    CHECK_FALSE(has(s.web.requests.at(0), "Cookie"));
    CHECK(s.get(s.web.url("/wall")).body == "let in");
    CHECK_FALSE(has(s.web.requests.at(3), "Cookie"));
}

TEST_CASE("redirects are followed, counted and judged anew each")
{
    client_stage s;
    const auto to = [](const std::string& target) {
        return send("HTTP/1.1 302 Found\r\nLocation: " + target + "\r\nContent-Length: 4\r\n\r\nmove");
    };
    s.web.on("/first", to("second?x=1"));
    s.web.on("/second", to("//localhost:" + std::to_string(s.web.port()) + "/end"));
    s.web.on("/end", send(answer("arrived")));
    s.web.on("/loop", to("/loop"));
    s.web.on("/inside", to("http://127.0.0.1:1/secret"));
    s.web.on("/metadata", to("http://169.254.169.254/latest/"));
    s.web.on("/file", to("file:///etc/passwd"));
    s.web.on("/user", to("http://me:pw@example.com/"));
    const auto reply = s.get(s.web.url("/first#part"), [](auto& r) { r.headers = {{"X-Key", "secret"}}; });
    CHECK(reply.body == "arrived");
    CHECK(reply.url.text() == "http://localhost:" + std::to_string(s.web.port()) + "/end#part");
    CHECK(reply.redirects == 2);
    CHECK(has(s.web.requests.at(1), "X-Key: secret"));
    CHECK_FALSE(has(s.web.requests.at(2), "X-Key"));
    CHECK(has(s.failure(s.web.url("/loop")), "too_many_redirects: Too many redirects: more than 10"));
    CHECK(has(s.failure(s.web.url("/loop")), s.web.url("/loop") + " → /loop."));
    CHECK(has(s.failure(s.web.url("/inside")), "refused: 127.0.0.1:1 is refused"));
    CHECK(has(s.failure(s.web.url("/metadata")), "cloud metadata"));
    CHECK(has(s.failure(s.web.url("/file")), "bad_redirect"));
    CHECK(has(s.failure(s.web.url("/file")), "the scheme file: cannot be fetched"));
    CHECK(has(s.failure(s.web.url("/user")), "user name or password"));
}

TEST_CASE("hosts that are refused, unknown or closed are told apart")
{
    client_stage s;
    CHECK(has(s.failure("http://10.1.2.3/"),
              "refused: 10.1.2.3:80 is refused: that address is not public (private (10.0.0.0/8))"));
    const auto unknown =
        s.failure("http://nothing.invalid/");  // without a network no name server says that there is none
    CHECK((has(unknown, "unresolved: The host nothing.invalid does not resolve") ||
           has(unknown, "while resolving nothing.invalid")));
    CHECK(has(s.failure("http://localhost:1/"), "localhost:1 is refused: port 1"));
    CHECK(has(s.failure("http://localhost:1234/"), "localhost:1234 leads to 127.0.0.1, which is refused"));
    std::uint16_t closed = 0;
    {
        asio::ip::tcp::acceptor gone(s.io, {asio::ip::address_v4::loopback(), 0});
        closed = gone.local_endpoint().port();
    }
    const std::string target = "127.0.0.1:" + std::to_string(closed);
    s.policy = rules({"*"}, {target});
    CHECK(has(s.failure("http://" + target), "unreachable: " + target + " cannot be reached: Connection refused"));
}

TEST_CASE("a time that is over names the phase")
{
    client_stage s;
    s.web.on("/silent", {{step::kind::hang, {}, {}}});
    s.web.on("/half-header", {{step::kind::send, "HTTP/1.1 200 OK\r\nX-A: ", {}}, {step::kind::hang, {}, {}}});
    s.web.on("/half-body", {{step::kind::send, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", {}},
                            {step::kind::hang, {}, {}}});
    s.web.on("/trickle", {{step::kind::send, "HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n", {}},
                          {step::kind::drip, std::string(10000, 'x'), 20ms}});
    s.web.on("/trickled-header", {{step::kind::drip, "HTTP/1.1 200 OK\r\n" + std::string(10000, 'x'), 20ms}});
    s.web.on("/endless-header",
             {{step::kind::send, "HTTP/1.1 200 OK\r\n", {}}, {step::kind::endless, "X-Header: x\r\n", 20ms}});
    CHECK(has(s.failure(s.web.url("/silent"), briefly),
              "timeout: Timed out after 0.3 s (WEB_TIMEOUT_DEFAULT) while waiting for 127.0.0.1"));
    CHECK(has(s.failure(s.web.url("/half-header"), briefly), "while waiting for"));
    CHECK(has(s.failure(s.web.url("/half-body"), briefly), "while reading the page from 127.0.0.1: 4 bytes had come"));
    CHECK(has(s.failure(s.web.url("/trickle"), briefly), "while reading the page"));
    CHECK(has(s.failure(s.web.url("/trickled-header"), briefly), "while waiting for"));
    CHECK(has(s.failure(s.web.url("/endless-header"), briefly), "while waiting for"));
}

TEST_CASE("too much is cut: announced, endless, in the header, unpacked")
{
    client_stage s;
    s.web.on("/announced", send("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n"));
    s.web.on("/endless", {{step::kind::send, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", {}},
                          {step::kind::endless, "1000\r\n" + std::string(4096, 'x') + "\r\n", {}}});
    s.web.on("/header", {{step::kind::send, "HTTP/1.1 200 OK\r\n", {}},
                         {step::kind::endless, "X-Header: " + std::string(1000, 'x') + "\r\n", {}}});
    s.web.on("/line", {{step::kind::send, "HTTP/1.1 200 OK\r\nX-Header: ", {}},
                       {step::kind::endless, std::string(1000, 'x'), {}}});
    s.web.on("/bomb", send(answer(gzip(std::string(100 << 20, '\0')), "text/html", "Content-Encoding: gzip\r\n")));
    CHECK(has(s.failure(s.web.url("/announced")),
              "announces 99999999 bytes, more than the 1 MiB that WEB_MAX_SIZE_MB allows"));
    CHECK(has(s.failure(s.web.url("/endless")), "too_large: The page is too large"));
    CHECK(has(s.failure(s.web.url("/header")), "sent a header of more than 64 KiB"));
    CHECK(has(s.failure(s.web.url("/line")), "sent a header of more than 64 KiB"));
    CHECK(has(s.failure(s.web.url("/bomb")), "decompression_bomb"));
}

TEST_CASE("broken answers are named")
{
    client_stage s;
    const step close{step::kind::close, {}, {}};
    s.web.on("/nothing", {close});
    s.web.on("/ssh", send("SSH-2.0-OpenSSH_9.2\r\n\r\n"));
    s.web.on("/short", {{step::kind::send, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", {}}, close});
    s.web.on("/length", send("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nx"));
    s.web.on("/chunk", send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nx"));
    s.web.on("/gzip",
             send(answer(gzip("truncated truncated").substr(0, 12), "text/html", "Content-Encoding: gzip\r\n")));
    CHECK(has(s.failure(s.web.url("/nothing")), "closed the connection without a whole answer"));
    CHECK(has(s.failure(s.web.url("/ssh")), "sent no valid HTTP answer"));
    CHECK(has(s.failure(s.web.url("/short")),
              "truncated: " + s.web.url("") + " closed the connection after 4 bytes of 100"));
    CHECK(has(s.failure(s.web.url("/length")), "sent no valid HTTP answer"));
    CHECK(has(s.failure(s.web.url("/chunk")), "sent no valid HTTP answer"));
    CHECK(has(s.failure(s.web.url("/gzip")), "its gzip data ends before it is whole"));
}

TEST_CASE("more body than was announced is no part of a later answer")
{
    client_stage s;
    s.web.on("/more",
             send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"));
    s.web.on("/next", send(answer("good")));
    CHECK(s.get(s.web.url("/more")).body == "abc");
    CHECK(s.get(s.web.url("/next")).body == "good");
    CHECK(s.web.connections == 2);
}

TEST_CASE("the body is not read when its type is not wanted")
{
    client_stage s;
    s.web.on("/", {{step::kind::send, "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n", {}},
                   {step::kind::hang, {}, {}}});
    const auto choosy = [](fetch_request& request) {
        request.check = [](const fetch_head& head) { throw fetch_error("type", "no " + head.type); };
    };
    CHECK(s.failure(s.web.url("/"), choosy) == "type: no video/mp4");
}

TEST_CASE("TLS is verified, and each way to fail has its sentence")
{
    {
        tls_stage s{test_ca()};
        CHECK(s.stage.get(s.secure.url("/")).body == "over TLS");
        CHECK(s.stage.get(s.secure.url("/")).body == "over TLS");
        CHECK(s.secure.connections == 1);
    }
    {
        tls_stage s{test_ca("localhost")};
        CHECK(s.stage.get("https://localhost:" + std::to_string(s.secure.port()) + "/").body == "over TLS");
        CHECK(has(s.stage.failure(s.secure.url("/")), "its certificate is for another host"));
    }
    {
        tls_stage s{test_ca(), false};
        CHECK(has(s.stage.failure(s.secure.url("/")), "issued by nobody this machine trusts"));
    }
    {
        tls_stage s{test_ca("127.0.0.1", -1)};
        CHECK(has(s.stage.failure(s.secure.url("/")),
                  "tls: No secure connection to 127.0.0.1: its certificate has expired."));
    }
    client_stage plain;
    plain.web.greeting = "HTTP/1.1 400 Bad Request\r\n\r\n";
    CHECK(has(plain.failure("https://" + plain.web.authority() + "/"),
              "tls: No secure connection to 127.0.0.1: it speaks no TLS on this port"));
}

TEST_CASE("a handshake that never ends is cut in its phase")
{
    client_stage s;
    CHECK(has(s.failure("https://" + s.web.authority() + "/", briefly), "while securing the connection (TLS)"));
}

TEST_CASE("a file of certificates that is none stops the start")
{
    asio::io_context io;
    const temporary_file file("nothing");
    CHECK_THROWS_AS(http_client(io.get_executor(), file.path), std::runtime_error);
    CHECK_THROWS_AS(http_client(io.get_executor(), "/does/not/exist.pem"), std::runtime_error);
}

namespace {

struct kept_pieces final : body_receiver {
    std::optional<std::uint64_t> length;
    fetch_head head;
    std::string body;
    std::size_t most = 1 << 20;

    awaitable<> begin(fetch_head of, std::optional<std::uint64_t> bytes) override
    {
        head = std::move(of);
        length = bytes;
        co_return;
    }
    awaitable<> receive(std::string_view piece) override
    {
        body += piece;
        if (body.size() > most) throw fetch_error("enough", "That is enough.");
        co_return;
    }
};

}  // namespace

TEST_CASE("a receiver gets the body as it comes in, however long it is")
{
    client_stage s;
    kept_pieces pieces;
    pieces.most = 8 << 20;
    const std::string body(4 << 20, 'x');
    s.web.on("/long", send(answer(body, "application/zip")));
    const auto reply = s.get(s.web.url("/long"), [&](fetch_request& request) { request.receiver = &pieces; });
    CHECK(reply.body.empty());
    CHECK(reply.received == body.size());
    CHECK(pieces.length == body.size());
    CHECK(pieces.head.type == "application/zip");
    CHECK(pieces.body == body);
    CHECK(s.web.requests.front().find("Accept-Encoding: identity") != std::string::npos);
}

TEST_CASE("what a receiver throws ends the fetch")
{
    client_stage s;
    kept_pieces pieces;
    pieces.most = 4 << 10;
    s.web.on("/endless", {{step::kind::send, "HTTP/1.1 200 OK\r\n\r\n", {}}, {step::kind::endless, "x", {}}});
    CHECK(s.failure(s.web.url("/endless"), [&](fetch_request& request) { request.receiver = &pieces; }) ==
          "enough: That is enough.");
    CHECK_FALSE(pieces.length);
}
