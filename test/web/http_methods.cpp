#include "test/web/client_stage.hpp"

using namespace cmcp;
using namespace cmcp::test;

TEST_CASE("a body is put with its type, and the answer has its etag")
{
    client_stage s;
    s.web.on("/object", send(answer("", "text/plain", "ETag: \"abc\"\r\n")));
    const std::string bytes("\0\r\n\r\nbytes", 10);
    const auto reply = s.get(s.web.url("/object"), [&](auto& r) {
        r.method = "PUT";
        r.body = bytes;
        r.body_type = "application/x-snapshot";
    });
    CHECK(reply.etag == "\"abc\"");
    const std::string& sent = s.web.requests.at(0);
    CHECK(has(sent, "PUT /object HTTP/1.1\r\n"));
    CHECK(has(sent, "Content-Type: application/x-snapshot\r\n"));
    CHECK(has(sent, "Content-Length: 10\r\n"));
    CHECK(sent.ends_with("\r\n\r\n" + bytes));
}

TEST_CASE("a body of no bytes has its length told, and a removal has none")
{
    client_stage s;
    s.web.on("/object", send("HTTP/1.1 204 No Content\r\n\r\n"));
    CHECK(s.get(s.web.url("/object"), [](auto& r) { r.method = "PUT"; }).status == 204);
    CHECK(s.get(s.web.url("/object"), [](auto& r) { r.method = "DELETE"; }).status == 204);
    CHECK(has(s.web.requests.at(0), "Content-Length: 0\r\n"));
    CHECK(has(s.web.requests.at(1), "DELETE /object HTTP/1.1\r\n"));
    CHECK_FALSE(has(s.web.requests.at(1), "Content-"));
}

TEST_CASE("an answer to HEAD ends with its head, whatever length it announces, and the connection stays")
{
    client_stage s;
    s.web.on("/object", send("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\nContent-Encoding: gzip\r\n\r\n"));
    const auto only_head = [](fetch_request& request) { request.method = "HEAD"; };
    CHECK(s.get(s.web.url("/object"), only_head).status == 200);
    CHECK(s.get(s.web.url("/object"), only_head).body.empty());
    CHECK(has(s.web.requests.at(0), "HEAD /object HTTP/1.1\r\n"));
    CHECK(s.web.connections == 1);
}

TEST_CASE("a body goes to no other place than the one that it was meant for")
{
    client_stage s;
    s.web.on("/from", send("HTTP/1.1 307 Temporary Redirect\r\nLocation: /to\r\nContent-Length: 0\r\n\r\n"));
    const auto put = [](fetch_request& request) { request.method = "PUT"; };
    CHECK(has(s.failure(s.web.url("/from"), put), "bad_redirect"));
    CHECK(s.web.requests.size() == 1);
}

TEST_CASE("a request that a stale connection took is sent again, and the answer says so")
{
    client_stage s;
    s.web.on("/object", send(answer("whole")));
    CHECK_FALSE(s.get(s.web.url("/object")).repeated);
    s.web.once("/object", {{step::kind::close, {}, {}}});
    const auto reply = s.get(s.web.url("/object"));
    CHECK(reply.body == "whole");
    CHECK(reply.repeated);
    CHECK(s.web.connections == 2);
}
