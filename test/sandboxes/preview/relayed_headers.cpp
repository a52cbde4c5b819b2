#include "preview/relayed_header.hpp"
#include "test/support/catch.hpp"

#include <utility>
#include <vector>

namespace cmcp {
namespace {

namespace http = boost::beast::http;

preview_view below_path()
{
    preview_view view;
    view.port = 8000;
    view.prefix = "/preview/tok";
    view.host = "server:1";
    view.scheme = "http";
    return view;
}

preview_view own_origin()
{
    preview_view view = below_path();
    view.own_origin = true;
    view.prefix.clear();
    return view;
}

http_request request_with(std::vector<std::pair<std::string_view, std::string_view>> fields)
{
    http_request request;
    request.method = "GET";
    request.fields = std::move(fields);
    return request;
}

std::string answer_with(std::vector<std::pair<std::string, std::string>> fields, const preview_view& view)
{
    port_answer answer;
    answer.result(200);
    for (const auto& [name, value] : fields) answer.insert(name, value);
    return head_of_answer(answer, "/", view);
}

}  // namespace

TEST_CASE("a request reaches a program without the server's secrets and the connection's fields", "[preview]")
{
    const auto request = request_with({{"host", "server:1"},
                                       {"authorization", "Bearer x"},
                                       {"cookie", "a=1"},
                                       {"x-own", "1"},
                                       {"connection", "close, X-Hop , authorization"},
                                       {"x-hop", "1"},
                                       {"te", "trailers"},
                                       {"x-forwarded-for", "1.2.3.4"},
                                       {"forwarded", "for=1"},
                                       {"content-length", "3"},
                                       {"proxy-authorization", "x"},
                                       {"upgrade", "h2c"},
                                       {"expect", "100-continue"}});
    auto view = below_path();
    view.knows_token = true;
    const auto sent = request_to_port(request, "/a", view);
    CHECK(sent[http::field::host] == "localhost:8000");
    CHECK(sent["X-Own"] == "1");
    CHECK(sent[http::field::connection] == "close");
    CHECK(sent["X-Forwarded-Prefix"] == "/preview/tok");
    for (const char* name : {"authorization", "cookie", "x-hop", "te", "x-forwarded-for", "forwarded", "content-length",
                             "proxy-authorization", "upgrade", "expect"})
        CHECK(sent.count(name) == 0);
}

TEST_CASE("credentials that are not the server's reach a program below a path, too", "[preview]")
{
    const auto request = request_with({{"authorization", "Basic YTpi"}, {"dpop", "proof"}, {"cookie", "a=1"}});
    auto view = below_path();
    CHECK(request_to_port(request, "/a", view)["Authorization"] == "Basic YTpi");
    CHECK(request_to_port(request, "/a", view).count("cookie") == 0);
    view.knows_token = true;
    CHECK(request_to_port(request, "/a", view).count("authorization") == 0);
    CHECK(request_to_port(request, "/a", view).count("dpop") == 0);
}

TEST_CASE("an origin of its own has its cookies and credentials, but not the server's", "[preview]")
{
    auto view = own_origin();
    const auto request = request_with({{"authorization", "Bearer x"},
                                       {"cookie", "a=1; cmcp_preview=t; __Host-cmcp_preview=t;b=2"},
                                       {"origin", "http://server:1"}});
    auto sent = request_to_port(request, "/", view);
    CHECK(sent["Authorization"] == "Bearer x");
    CHECK(sent["Cookie"] == "a=1; b=2");
    CHECK(sent["Origin"] == "http://localhost:8000");
    view.knows_token = true;
    CHECK(request_to_port(request, "/", view).count("Authorization") == 0);
    CHECK(request_to_port(request_with({{"cookie", "cmcp_preview=t"}}), "/", view).count("Cookie") == 0);
}

TEST_CASE("an answer below a path keeps what concerns the answer, and is a page without an origin", "[preview]")
{
    const std::string head = answer_with({{"Content-Type", "text/html"},
                                          {"Set-Cookie", "a=1"},
                                          {"Access-Control-Allow-Origin", "*"},
                                          {"Service-Worker-Allowed", "/"},
                                          {"NEL", "{}"},
                                          {"Connection", "ETag"},
                                          {"ETag", "x"},
                                          {"X-Unheard-Of", "1"}},
                                         below_path());
    CHECK(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"));
    CHECK(head.find("sandbox allow-scripts") != std::string::npos);
    CHECK(head.find("Access-Control-Allow-Origin: null") != std::string::npos);
    for (const char* name : {"Set-Cookie", "Allow-Origin: *", "Service-Worker", "NEL", "ETag", "X-Unheard-Of"})
        CHECK(head.find(name) == std::string::npos);
}

TEST_CASE("an answer of an origin of its own has no field for other origins", "[preview]")
{
    const std::string head = answer_with({{"Set-Cookie", "a=1; Path=/"},
                                          {"Set-Cookie", "b=1; DOMAIN = p.example"},
                                          {"Set-Cookie", "__Host-cmcp_preview=x"},
                                          {"Strict-Transport-Security", "max-age=1; includeSubDomains"},
                                          {"X-Unheard-Of", "1"}},
                                         own_origin());
    CHECK(head.find("a=1") != std::string::npos);
    CHECK(head.find("X-Unheard-Of: 1") != std::string::npos);
    for (const char* text : {"b=1", "cmcp_preview", "Strict", "sandbox"}) CHECK(head.find(text) == std::string::npos);
}

TEST_CASE("an answer that another server passes on is a stranger's, too", "[preview]")
{
    port_answer answer;
    answer.result(200);
    for (const auto& [name, value] :
         std::vector<std::pair<std::string, std::string>>{{"Content-Type", "text/html"},
                                                          {"Set-Cookie", "session=mine"},
                                                          {"Set-Cookie", "wide=1; Domain=example.org"},
                                                          {"Strict-Transport-Security", "max-age=1"},
                                                          {"Access-Control-Allow-Origin", "*"},
                                                          {"Clear-Site-Data", "\"*\""},
                                                          {"Service-Worker-Allowed", "/"}})
        answer.insert(name, value);
    const auto below = head_of_passed_answer(answer, false);
    CHECK(below.find("Content-Type: text/html\r\n") != std::string::npos);
    CHECK(below.find("Content-Security-Policy: sandbox ") != std::string::npos);
    CHECK(below.find("Access-Control-Allow-Origin: null\r\n") != std::string::npos);
    for (const auto* name :
         {"Set-Cookie", "Strict-Transport-Security", "Clear-Site-Data", "Service-Worker-Allowed", ": *"})
        CHECK(below.find(name) == std::string::npos);
    const auto own = head_of_passed_answer(answer, true);
    CHECK(own.find("Set-Cookie: session=mine\r\n") != std::string::npos);
    CHECK(own.find("wide=1") == std::string::npos);
    CHECK(own.find("Strict-Transport-Security") == std::string::npos);
}

TEST_CASE("no value of an answer begins another line", "[preview]")
{
    CHECK(answer_with({{"X-A", "a\r\nSet-Cookie: evil=1\n\r"}}, own_origin()).find("\r\nSet-Cookie") ==
          std::string::npos);
}

TEST_CASE("redirects of a program stay below its path", "[preview]")
{
    const auto view = below_path();
    const std::pair<const char*, const char*> cases[] = {
        {"/a", "/preview/tok/a"},
        {"b", "/preview/tok/dir/b"},
        {"../../..", "/preview/tok/"},
        {"./../x/", "/preview/tok/x/"},
        {"?q", "/preview/tok/dir/page?q"},
        {"#f", "/preview/tok/dir/page#f"},
        {"/../../mcp?x=/../..", "/preview/tok/mcp?x=/../.."},
        {"/.%2E/%2e%2e/mcp", "/preview/tok/mcp"},
        {"/a/..\\..\\mcp", "/preview/tok/mcp"},
        {"http://localhost:8000", "/preview/tok/"},
        {"HTTP://127.0.0.1:8000/x", "/preview/tok/x"},
        {"https://SERVER:1/mcp", "/preview/tok/mcp"},
        {"//[::1]:8000/y", "/preview/tok/y"},
        {"https://example.com/", "https://example.com/"},
        {"//example.com/", "//example.com/"},
        {"mailto:a@b", "mailto:a@b"},
    };
    for (const auto& [location, expected] : cases) {
        INFO(location);
        CHECK(location_for_client(location, "/dir/page?old", view) == expected);
    }
    CHECK(location_for_client("http://localhost:8000/x", "/", own_origin()) == "/x");
}

TEST_CASE("only the WebSocket that was asked for is accepted", "[preview]")
{
    const auto request = request_with({{"connection", "keep-alive, Upgrade"},
                                       {"upgrade", "websocket"},
                                       {"sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="},
                                       {"sec-websocket-version", "13"}});
    CHECK(wants_websocket(request));
    port_answer answer;
    answer.result(101);
    answer.set(http::field::upgrade, "WebSocket");
    answer.set(http::field::connection, "upgrade");
    answer.set(http::field::sec_websocket_accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");  // RFC 6455 section 1.3
    answer.set("Set-Cookie", "a=1");
    const std::string head = head_of_switch(answer, request);
    CHECK(head.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") != std::string::npos);
    CHECK(head.find("Set-Cookie") == std::string::npos);
    CHECK(head_of_switch(answer, request_with({})).empty());
    answer.set(http::field::sec_websocket_accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOO=");
    CHECK(head_of_switch(answer, request).empty());
}

}  // namespace cmcp
