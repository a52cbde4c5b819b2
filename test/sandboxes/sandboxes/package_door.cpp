#include "packages/package_door.hpp"
#include "test/outbound/egress/egress_support.hpp"

#include "jsonrpc/json.hpp"
#include "wire/packet_socket.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/endian/conversion.hpp>

#include <array>

using namespace cmcp;
using namespace cmcp::test;

namespace {

/// An answer as a fetching run sees it.
struct door_answer {
    json::object head;
    std::string body;
    char end = 0;
    std::int64_t status() const { return head.at("status").to_number<std::int64_t>(); }
};

/// An index on loopback, another web server, and the run's end of the door.
struct door_stage {
    asio::io_context io;
    origin web{io}, other{io};
    http_client client{io.get_executor(), {}};
    std::shared_ptr<egress_ticket> ticket;
    std::shared_ptr<package_index> index;
    asio::posix::stream_descriptor run{io};
    blocking_pool pool;
    task_group tasks{io.get_executor()};

    explicit door_stage(std::vector<std::string> allowed = {}, std::uint64_t most = 1 << 20)
    {
        allowed.push_back(web.authority());
        egress_limits limits;
        limits.bytes = most;
        ticket = std::make_shared<egress_ticket>("test", rules(allowed, allowed), limits);
        index = std::make_shared<package_index>(package_kind::pip, web_url::parse(web.url("/simple")));
        auto [ours, theirs] = sandbox::socket_pair(SOCK_STREAM);
        run.assign(theirs.release());
        package_source source{client, pool, ticket, index, "Basic c2VjcmV0", "owner", std::chrono::seconds(10)};
        tasks.spawn("door", open_package_door(std::move(ours), std::move(source)));
    }
    void links(const std::string& page) { web.on("/simple/one/", send(answer(page))); }
    door_answer ask(std::string address) { return run_coroutine(io, question(std::move(address))); }
    /// Of a page that links to `file`, then of the file.
    door_answer fetch(const std::string& file)
    {
        links("<a href=\"" + file + "\">one</a>");
        CHECK(ask(web.url("/simple/one/")).status() == 200);
        return ask(file);
    }

private:
    awaitable<door_answer> question(std::string address)
    {
        std::array<char, 9> head{'g', 0, 0, 0, 7};
        boost::endian::store_big_u32(reinterpret_cast<unsigned char*>(head.data()) + 5,
                                     static_cast<std::uint32_t>(address.size()));
        const std::string frame = std::string(head.data(), head.size()) + address;
        co_await asio::async_write(run, asio::buffer(frame), asio::use_awaitable);
        door_answer seen;
        while (seen.end == 0) {
            std::array<unsigned char, 9> bytes{};
            co_await asio::async_read(run, asio::buffer(bytes), asio::use_awaitable);
            std::string data(boost::endian::load_big_u32(bytes.data() + 5), '\0');
            co_await asio::async_read(run, asio::buffer(data), asio::use_awaitable);
            if (bytes[0] == 'h') seen.head = json::parse(data).as_object();
            if (bytes[0] == 'd') seen.body += data;
            if (bytes[0] == 'e' || bytes[0] == 'x') seen.end = static_cast<char>(bytes[0]);
        }
        co_return seen;
    }
};

bool has_password(const std::string& request)
{
    return request.find("Authorization: Basic c2VjcmV0") != std::string::npos;
}

std::string redirect_to(const std::string& url)
{
    return answer("", "text/plain", "Location: " + url + "\r\n", "302 Found");
}

}  // namespace

TEST_CASE("pages and files come through the door of packages, by GET alone")
{
    door_stage s;
    const std::string content(300'000, 'w');
    s.web.on("/files/one.whl", send(answer(content, "application/zip")));
    const auto file = s.fetch(s.web.url("/files/one.whl"));
    CHECK(file.status() == 200);
    CHECK(file.head.at("length").to_number<std::size_t>() == content.size());
    CHECK(file.body == content);
    CHECK(file.end == 'e');
    REQUIRE(s.web.requests.size() == 2);
    CHECK(s.web.requests[0].starts_with("GET /simple/one/ HTTP/1.1\r\n"));
    CHECK(s.web.requests[1].starts_with("GET /files/one.whl HTTP/1.1\r\n"));
    for (const auto& request : s.web.requests) CHECK(has_password(request));
}

TEST_CASE("an address that the index did not name never leaves the server")
{
    door_stage s({"127.0.0.1"});
    s.web.on("/admin", send(answer("secret")));
    s.other.on("/x", send(answer("secret")));
    for (const std::string& address : {s.web.url("/admin"), s.other.url("/x"), s.web.url("/simple/one/?leak=1")}) {
        const auto refused = s.ask(address);
        CHECK(refused.status() == 403);
        CHECK(refused.end == 'e');
    }
    CHECK(s.web.requests.empty());
    CHECK(s.other.requests.empty());
}

TEST_CASE("a redirect of the index to a host that is not among its hosts is refused")
{
    door_stage s;
    s.other.on("/one.whl", send(answer("elsewhere")));
    s.web.on("/files/one.whl", send(redirect_to(s.other.url("/one.whl"))));
    const auto refused = s.fetch(s.web.url("/files/one.whl"));
    CHECK(refused.status() == 403);
    CHECK(s.other.connections == 0);
    REQUIRE_FALSE(s.ticket->refusals().empty());
    CHECK(s.ticket->refusals().back().port == s.other.port());
}

TEST_CASE("a file of another host of the index comes without the index's password")
{
    door_stage s({"127.0.0.1"});
    s.other.on("/one.whl", send(answer("elsewhere")));
    s.web.on("/files/two.whl", send(redirect_to(s.other.url("/one.whl"))));
    CHECK(s.fetch(s.other.url("/one.whl")).body == "elsewhere");
    CHECK(s.fetch(s.web.url("/files/two.whl")).body == "elsewhere");
    REQUIRE(s.other.requests.size() == 2);
    for (const auto& request : s.other.requests) CHECK_FALSE(has_password(request));
}

TEST_CASE("an answer that stops, or that brings more than may be transferred, is cut off")
{
    door_stage s({}, 100'000);
    s.web.on("/files/cut.whl", {{step::kind::send, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf", {}},
                                {step::kind::close, {}, {}}});
    const auto cut = s.fetch(s.web.url("/files/cut.whl"));
    CHECK(cut.end == 'x');
    CHECK(cut.body == "half");
    s.web.on("/files/long.whl", send(answer(std::string(200'000, 'w'))));
    const auto bounded = s.fetch(s.web.url("/files/long.whl"));
    CHECK(bounded.end == 'x');
    CHECK(bounded.body.size() <= 100'000);
    CHECK(s.ticket->refusals().back().rule == "bytes");
}

TEST_CASE("an index that cannot be reached is a bad answer with the reason")
{
    door_stage s;
    const std::string gone = s.web.url("/simple/one/");
    s.web.on("/simple/one/", {{step::kind::close, {}, {}}});
    const auto failed = s.ask(gone);
    CHECK(failed.status() == 502);
    CHECK(failed.body.find("without a whole answer") != std::string::npos);
    CHECK_FALSE(s.ticket->refusals().empty());
}

TEST_CASE("bytes that are no question close the door")
{
    door_stage s;
    asio::write(s.run, asio::buffer(std::string("CONNECT index:443 HTTP/1.1\r\n\r\n")));
    std::array<char, 1> byte{};
    auto ended = [](door_stage& of, std::array<char, 1>& into) -> awaitable<bool> {
        auto [failure, got] = co_await of.run.async_read_some(asio::buffer(into), as_tuple);
        co_return failure == asio::error::eof || failure == asio::error::connection_reset;
    };
    CHECK(run_coroutine(s.io, ended(s, byte)));
    CHECK(s.web.requests.empty());
}
