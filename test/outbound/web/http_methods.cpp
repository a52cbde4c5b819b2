#include "test/outbound/web/client_stage.hpp"

#include <boost/asio/detached.hpp>

using namespace cmcp;
using namespace cmcp::test;
using asio::ip::tcp;

namespace {

// Refuses after the header, and closes with the body unread.
awaitable<> refuse_early(tcp::acceptor& acceptor)
{
    auto client = co_await acceptor.async_accept(asio::use_awaitable);
    std::string seen;
    co_await asio::async_read_until(client, asio::dynamic_buffer(seen), "\r\n\r\n", asio::use_awaitable);
    const std::string refusal = answer("not you", "text/plain", "Connection: close\r\n", "403 Forbidden");
    co_await asio::async_write(client, asio::buffer(refusal), asio::use_awaitable);
}

}  // namespace

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

TEST_CASE("a request that a stale connection took is sent again")
{
    client_stage s;
    s.web.on("/object", send(answer("whole")));
    CHECK(s.get(s.web.url("/object")).body == "whole");
    s.web.once("/object", {{step::kind::close, {}, {}}});
    CHECK(s.get(s.web.url("/object")).body == "whole");
    CHECK(s.web.connections == 2);
}

TEST_CASE("an answer that comes before the whole body is sent is the answer")
{
    client_stage s;
    tcp::acceptor acceptor(s.io, {asio::ip::address_v4::loopback(), 0});
    const std::string authority = "127.0.0.1:" + std::to_string(acceptor.local_endpoint().port());
    s.policy = rules({"*"}, {authority});
    asio::co_spawn(s.io, refuse_early(acceptor), asio::detached);
    const auto reply = s.get("http://" + authority + "/object", [](auto& r) {
        r.method = "PUT";
        r.body = std::string(16 << 20, 'x');
    });
    CHECK(reply.status == 403);
    CHECK(reply.body == "not you");
}
