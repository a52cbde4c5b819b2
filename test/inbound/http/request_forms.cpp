#include "http/request_parser.hpp"

#include "test/support/catch.hpp"

#include <stdexcept>

using namespace cmcp;

namespace {

http_request parsed(std::string_view line, std::initializer_list<std::string_view> fields)
{
    std::string header = std::string(line) + "\r\n";
    for (const auto field : fields) header.append(field).append("\r\n");
    header += "\r\n";
    http_request request;
    request_parser parser(16 * 1024);
    if (parser.put_header(header, request) != request_parser::state::done) throw std::runtime_error(parser.why());
    return request;
}

}  // namespace

TEST_CASE("a list in several lines is one list")
{
    const auto request = parsed(
        "GET / HTTP/1.1", {"Accept: text/html", "Host: a", "accept: application/json", "Cache-Control:", "X-Other: 1",
                           "ACCEPT: ", "Accept: text/*;q=0.5", "Cache-Control: no-store", "Cookie: a=1", "Cookie: b=2",
                           "Upgrade: h2c", "Upgrade: websocket"});
    CHECK(request.header("Accept") == "text/html, application/json, text/*;q=0.5");
    CHECK(request.header("cache-control") == "no-store");
    CHECK(request.header("cookie") == "a=1; b=2");
    CHECK(request.header("upgrade") == "h2c, websocket");
    CHECK(request.header("x-other") == "1");
    CHECK(request.count("accept") == 1);
    CHECK(request.fields.size() == 6);
    CHECK(request.fields.front().first == "accept");
}

TEST_CASE("what a message has once stays in its lines, for the guard to refuse")
{
    const auto request =
        parsed("GET / HTTP/1.1", {"Host: a", "Host: b", "Authorization: Bearer x", "Origin: http://a",
                                  "Authorization: Bearer y", "Mcp-Session-Id: 1", "Mcp-Session-Id: 2"});
    CHECK(request.count("host") == 2);
    CHECK(request.count("authorization") == 2);
    CHECK(request.header("mcp-session-id") == "1");
}

TEST_CASE("many lines of one list are joined in one pass")
{
    std::vector<std::string_view> lines(900, "te: a");
    std::string header = "GET / HTTP/1.1\r\nhost: a\r\n";
    for (const auto line : lines) header.append(line).append("\r\n");
    http_request request;
    request_parser parser(64 * 1024);
    REQUIRE(parser.put_header(header + "\r\n", request) == request_parser::state::done);
    CHECK(request.fields.size() == 2);
    CHECK(request.header("te")->size() == lines.size() * 3 - 2);
}

TEST_CASE("a target in absolute form is a path, and its authority is the Host")
{
    const auto request = parsed("GET http://mcp.example.org:8443/healthz?verbose HTTP/1.1", {"Host: other"});
    CHECK(request.path == "/healthz");
    CHECK(request.query == "verbose");
    CHECK(request.header("host") == "mcp.example.org:8443");
    CHECK(request.count("host") == 1);
    const auto bare = parsed("GET HTTPS://a?x=/y HTTP/1.1", {"Host: b"});
    CHECK(bare.path == "/");
    CHECK(bare.query == "x=/y");
    CHECK(bare.header("host") == "a");
    CHECK(parsed("GET http://a/ HTTP/1.0", {}).header("host") == "a");
    CHECK(parsed("GET http://a/ HTTP/1.1", {}).count("host") == 0);
    CHECK(parsed("GET ftp://a/ HTTP/1.1", {"Host: b"}).path == "ftp://a/");
    CHECK(parsed("GET //a/b HTTP/1.1", {"Host: b"}).path == "//a/b");
}
