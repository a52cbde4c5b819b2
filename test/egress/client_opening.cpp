#include "egress/client_opening.hpp"
#include "test/egress/client_hello.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using kind = client_opening::kind;

namespace {

// The handshake message of a ClientHello in records of so many bytes.
std::string in_records_of(const std::string& hello, std::size_t size)
{
    std::string message = hello.substr(5), records;
    for (; !message.empty(); message.erase(0, std::min(size, message.size()))) {
        const std::string piece = message.substr(0, size);
        records += hello.substr(0, 3);
        records += static_cast<char>(piece.size() >> 8);
        records += static_cast<char>(piece.size() & 0xff);
        records += piece;
    }
    return records;
}

}  // namespace

TEST_CASE("a ClientHello tells its server name, however it is cut")
{
    const auto hello = test::client_hello("www.shop.test");
    CHECK(look_at_opening(hello).is == kind::tls);
    CHECK(look_at_opening(hello).name == "www.shop.test");
    for (std::size_t size = 0; size != hello.size(); ++size)
        CHECK(look_at_opening(hello.substr(0, size)).is == kind::unfinished);
    for (const std::size_t size : {1, 4, 100}) {
        const auto records = in_records_of(hello, size);
        CHECK(look_at_opening(records).name == "www.shop.test");
        CHECK(look_at_opening(records.substr(0, records.size() - 1)).is == kind::unfinished);
    }
}

TEST_CASE("a ClientHello without a server name, or with a broken one, names nobody")
{
    CHECK(look_at_opening(test::client_hello("")).is == kind::tls);
    CHECK_FALSE(look_at_opening(test::client_hello("")).name);
    const auto hello = test::client_hello("www.shop.test");
    for (std::size_t at = 5; at != hello.size(); ++at) {
        auto changed = hello;
        changed[at] = static_cast<char>(changed[at] ^ 0x40);
        const auto opening = look_at_opening(changed);
        if (opening.name) CHECK(opening.name->size() <= hello.size());
    }
}

TEST_CASE("requests are told from other protocols")
{
    CHECK(look_at_opening("").is == kind::unfinished);
    CHECK(look_at_opening("GE").is == kind::unfinished);
    CHECK(look_at_opening("GET / HTTP/1.1\r\n").is == kind::http);
    CHECK(look_at_opening("OPTIONS * HTTP/1.1\r\n").is == kind::http);
    CHECK(look_at_opening("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").is == kind::other);
    CHECK(look_at_opening("SSH-2.0-client\r\n").is == kind::other);
    CHECK(look_at_opening("get / HTTP/1.1\r\n").is == kind::other);
    CHECK(look_at_opening(" GET /").is == kind::other);
    CHECK(look_at_opening(std::string(40, 'A')).is == kind::other);
    CHECK(look_at_opening("\x16\x02\x01").is == kind::other);
    CHECK(look_at_opening(std::string("\x16\x03\x01\x00\x00", 5)).is == kind::other);
    CHECK(look_at_opening(std::string("\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00", 10)).is == kind::other);
}
