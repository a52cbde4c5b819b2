#include "egress/client_opening.hpp"
#include "egress/tls_hellos.hpp"

#include "test/outbound/egress/client_hello.hpp"
#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

using spoken = client_opening::kind;

spoken kind_of(const std::string& bytes) { return client_opening::parse(bytes).is; }

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
        const auto whole = client_opening::parse(bytes + "early data");
        CHECK(whole.is == spoken::tls);
        CHECK(whole.server_name == "one.example");
    }
    CHECK(client_opening::parse(client_hello("")).is == spoken::tls);
    CHECK(client_opening::parse(client_hello("")).server_name.empty());
}

TEST_CASE("a handshake that can be read in two ways is none")
{
    const std::string one = names_extension("one.example");
    CHECK(client_opening::parse(hello_with(one)).server_name == "one.example");
    const std::string hidden_name("\xfe\x0d\0\1x", 5);  // an encrypted ClientHello comes along; its outer name counts
    CHECK(client_opening::parse(hello_with(hidden_name + one)).server_name == "one.example");
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

namespace {

const std::string retry_random(
    "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2"
    "\xc8\xa8\x33\x9c",
    32);

std::string message(char type, const std::string& body)
{
    return std::string{type, 0, static_cast<char>(body.size() >> 8), static_cast<char>(body.size())} + body;
}

std::string server_hello(const std::string& random)
{
    return tls_record(message(2, "\3\3" + random + std::string(6, '\1')));
}

const std::string plain_hello = server_hello(std::string(32, 'r')), retry_request = server_hello(retry_random);
const std::string good = hello_with(names_extension("one.example")), other = hello_with(names_extension("two.example"));
const std::string change_cipher = tls_record("\1", 20), early_data = tls_record("secret", 23);

/// The names of hellos in what a client sends, and of what passes: "one.example", "bad", "waits", "over".
struct followed {
    std::string client(const std::string& bytes)
    {
        unsent += bytes;
        std::string seen;
        for (;;) {
            const auto opening = hellos.parse(unsent);
            if (opening.is == spoken::bad) return seen + "bad";
            if (opening.is == spoken::tls) seen += opening.server_name + " ";
            const auto size = hellos.passable();
            sent += unsent.substr(0, size);
            unsent.erase(0, size);
            hellos.passed();
            if (opening.is == spoken::more && size == 0) break;
        }
        return seen + (hellos.is_over() ? "over" : hellos.waits_for_answer() ? "waits" : "more");
    }
    tls_hellos hellos;
    std::string unsent, sent;
};

}  // namespace

TEST_CASE("the ClientHello after a HelloRetryRequest is found like the first")
{
    for (const std::size_t piece : {std::size_t{1}, std::size_t{9}, std::size_t{1000}}) {
        INFO(piece);
        followed s;
        CHECK(s.client(good) == "one.example more");
        CHECK(s.sent == good);
        for (std::size_t at = 0; at < retry_request.size(); at += piece)
            s.hellos.answer(retry_request.substr(at, piece));
        CHECK(s.client(change_cipher) == "more");
        std::string seen;
        const auto again = in_records(other, piece);
        for (std::size_t at = 0; at < again.size(); at += piece) seen = s.client(again.substr(at, piece));
        CHECK(seen == "two.example more");
        s.hellos.answer(change_cipher + plain_hello);
        CHECK(s.client("anything") == "over");
    }
}

TEST_CASE("a ClientHello that comes before the server's answer waits for it")
{
    followed s;
    CHECK(s.client(good + early_data + change_cipher + other) == "one.example waits");
    CHECK(s.sent == good + early_data + change_cipher);
    s.hellos.answer(tls_record("\1\x70", 21));  // a warning comes before a ServerHello
    CHECK(s.client("") == "waits");
    s.hellos.answer(retry_request);
    CHECK(s.client("") == "two.example more");
    followed plain;
    CHECK(plain.client(good + tls_record(std::string("\x10\0\0\1x", 5))) == "one.example waits");  // of TLS 1.2
    plain.hellos.answer(plain_hello);
    CHECK(plain.client("") == "over");
    CHECK(plain.sent == good);  // the rest is copied without a look
}

TEST_CASE("a server's answer is understood however it is cut, and whatever stands before it")
{
    const auto over_after = [](const std::string& answer) {
        followed s;
        s.client(good);
        for (const char byte : answer) s.hellos.answer({&byte, 1});
        return s.hellos.is_over();
    };
    CHECK(over_after(plain_hello));
    CHECK(over_after(in_records(plain_hello, 3)));
    CHECK(over_after(tls_record(message(0, "")) + plain_hello));  // HelloRequest
    CHECK(over_after(tls_record(message(0, "") + plain_hello.substr(5))));
    for (const std::string& none :
         {std::string(), retry_request, retry_request + change_cipher, in_records(retry_request, 2),
          plain_hello.substr(0, 40), std::string("HTTP/1.1 400 Bad Request\r\n\r\n"), tls_record(message(2, "\3\3")),
          tls_record(message(6, std::string(40, 'r'))), early_data})
        CHECK_FALSE(over_after(none));
    CHECK_FALSE(over_after(retry_request + plain_hello));  // the ClientHello that was asked for has not come
}

TEST_CASE("what could hide a ClientHello from the guard ends the handshake")
{
    const auto after_retry = [](const std::string& bytes) {
        followed s;
        s.client(good);
        s.hellos.answer(retry_request);
        return s.client(bytes);
    };
    CHECK(after_retry(other) == "two.example more");
    CHECK(after_retry(hello_with(names_extension("one.example", "two.example"))) == "bad");
    CHECK(after_retry(hello_with(names_extension(""))) == "bad");
    CHECK(after_retry(in_records(other, 20).substr(0, 50) + change_cipher) == "bad");
    CHECK(after_retry(tls_record(message(11, "x"))) == "bad");  // another message than a hello
    CHECK(after_retry(tls_record("x", 99)) == "bad");
    CHECK(after_retry("GET / HTTP/1.1\r\n\r\n") == "bad");
    CHECK(after_retry(other + other) == "two.example waits");
    CHECK(followed().client(tls_record(good.substr(5) + other.substr(5))) == "bad");  // two in one record
    CHECK(followed().client(early_data + good) == "bad");
}

TEST_CASE("a ClientHello is read in linear time")
{
    const auto cut = [](std::size_t size) {
        const std::string begin{'\xfe', '\x0d', static_cast<char>(size >> 8), static_cast<char>(size)};
        return in_records(hello_with(begin + std::string(size, 'x')), 4);
    };
    const auto byte_by_byte = [](const std::string& bytes) {
        tls_hellos hellos;
        for (std::size_t end = 1; end <= bytes.size(); ++end) hellos.parse(std::string_view(bytes).substr(0, end));
    };
    CHECK(test::growth(cut, byte_by_byte, 15'000) < test::linear_growth);
}
