#include "egress/client_opening.hpp"

#include "test/egress/client_hello.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

using spoken = client_opening::kind;

spoken kind_of(const std::string& bytes) { return client_opening::look(bytes).is; }

}  // namespace

TEST_CASE("a ClientHello is read however it is cut into pieces and records")
{
    const std::string hello = client_hello("one.example");
    for (const std::size_t size : {hello.size(), std::size_t{100}, std::size_t{7}, std::size_t{1}}) {
        const std::string bytes = in_records(hello, size);
        INFO(size << " bytes a record");
        std::size_t read = 0;
        for (std::size_t end = 1; end < bytes.size(); ++end)
            read += kind_of(bytes.substr(0, end)) == spoken::more ? 1 : 0;
        CHECK(read == bytes.size() - 1);
        const auto whole = client_opening::look(bytes + "early data");
        CHECK(whole.is == spoken::tls);
        CHECK(whole.server_name == "one.example");
    }
    CHECK(client_opening::look(client_hello("")).is == spoken::tls);
    CHECK(client_opening::look(client_hello("")).server_name.empty());
}

TEST_CASE("a handshake that can be read in two ways is none")
{
    const std::string one = names_extension("one.example");
    CHECK(client_opening::look(hello_with(one)).server_name == "one.example");
    const std::string hidden_name("\xfe\x0d\0\1x", 5);  // an encrypted ClientHello comes along; its outer name counts
    CHECK(client_opening::look(hello_with(hidden_name + one)).server_name == "one.example");
    CHECK(kind_of(hello_with(names_extension("one.example", "two.example"))) == spoken::bad);
    CHECK(kind_of(hello_with(one + names_extension("two.example"))) == spoken::bad);
    CHECK(kind_of(hello_with(names_extension(""))) == spoken::bad);
    CHECK(kind_of(hello_with(one.substr(0, one.size() - 1))) == spoken::bad);
    CHECK(kind_of(hello_with(one + "\xff")) == spoken::bad);
    CHECK(kind_of(tls_record("\2\1")) == spoken::bad);  // a ServerHello
    CHECK(kind_of(tls_record("")) == spoken::bad);      // no bytes
    CHECK(kind_of(tls_record("\1\x02") + tls_record("x", 23)) == spoken::bad);
    CHECK(kind_of(std::string("\x16\3\1\x7f\xff\1", 6)) == spoken::bad);    // a record of 32 KiB
    CHECK(kind_of(tls_record(std::string("\1\2\0\0", 4))) == spoken::bad);  // a hello of 128 KiB
    CHECK(kind_of(std::string(2 * client_opening::longest, 'x')) == spoken::bad);
}

TEST_CASE("the first bytes tell the protocol")
{
    CHECK(kind_of("GET / HTTP/1.1\r\n") == spoken::http);
    CHECK(kind_of("\r\n GET / HTTP/1.0\n") == spoken::http);
    CHECK(kind_of("whatever  x  http/1.1\r\n") == spoken::http);
    CHECK(kind_of("GET / HTTP/1.1\r") == spoken::more);
    CHECK(kind_of("") == spoken::more);
    CHECK(kind_of("\x16") == spoken::more);
    CHECK(kind_of("SSH-2.0-x") == spoken::more);
    CHECK(kind_of("SSH-2.0-x\r\n") == spoken::other);
    CHECK(kind_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") == spoken::other);
    CHECK(kind_of(std::string("\0\0\0\x08\x04\xd2\x16\x2f", 8)) == spoken::other);
    CHECK(kind_of("\x16\x02") == spoken::other);
    CHECK(kind_of("GET /\r\n") == spoken::other);
}

TEST_CASE("a handshake is passed on when it is for the name of its connection")
{
    const auto who = read_host("one.example"), address = read_host("10.1.2.3");
    CHECK(server_name_problem("One.Example", who, 443).empty());
    CHECK(server_name_problem("one.example.", who, 443).empty());
    CHECK(server_name_problem("two.example", who, 443) ==
          "one.example:443 is refused: the TLS handshake is for two.example; connect to that name instead.");
    CHECK(server_name_problem("", who, 443).find("names no server (SNI)") != std::string::npos);
    CHECK_FALSE(server_name_problem("a\nb", who, 443).empty());
    CHECK(server_name_problem("", address, 443).empty());
    CHECK_FALSE(server_name_problem("one.example", address, 443).empty());
}
