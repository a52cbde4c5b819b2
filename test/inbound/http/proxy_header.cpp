#include "http/proxy_header.hpp"

#include "test/support/catch.hpp"

#include <string>

namespace cmcp {

namespace {

using state = proxy_header::state;
using namespace std::string_literals;

const std::string mark("\r\n\r\n\0\r\nQUIT\n", 12);

std::string binary(char command, char family, const std::string& rest)
{
    return mark + command + family + static_cast<char>(rest.size() / 256) + static_cast<char>(rest.size() % 256) + rest;
}

const std::string four = "\xc0\x00\x02\x01\x7f\x00\x00\x01\x10\x00\x1f\x90"s;
const std::string six =
    "\x20\x01\x0d\xb8"s + std::string(11, '\0') + "\x07" + std::string(16, '\0') + "\x10\x00\x1f\x90"s;

std::string client_of(const std::string& bytes)
{
    const auto header = proxy_header::look(bytes);
    if (header.is == state::refused) return "refused";
    if (header.is == state::more) return "more";
    if (header.is == state::none) return "none";
    return header.client ? header.client->to_string() : "unknown";
}

}  // namespace

TEST_CASE("a PROXY header in text tells the client")
{
    CHECK(client_of("PROXY TCP4 192.0.2.1 127.0.0.1 4096 8080\r\nGET / HTTP/1.1\r\n") == "192.0.2.1");
    CHECK(client_of("PROXY TCP6 2001:db8::7 ::1 1 65535\r\n") == "2001:db8::7");
    CHECK(client_of("PROXY UNKNOWN\r\n") == "unknown");
    CHECK(client_of("PROXY UNKNOWN ffff:f...f:ffff 65535 65535\r\n") == "unknown");
    CHECK(proxy_header::look("PROXY TCP4 192.0.2.1 127.0.0.1 4096 8080\r\nGET").size == 42);
}

TEST_CASE("a PROXY header in binary tells the client, behind which further values are passed over")
{
    CHECK(client_of(binary('\x21', '\x11', four) + "GET /") == "192.0.2.1");
    CHECK(client_of(binary('\x21', '\x11', four + "\x03\x00\x04"s + "abcd")) == "192.0.2.1");
    CHECK(client_of(binary('\x21', '\x21', six)) == "2001:db8::7");
    CHECK(client_of(binary('\x21', '\x31', std::string(216, 'x'))) == "unknown");
    CHECK(client_of(binary('\x20', '\0', "")) == "unknown");
    CHECK(client_of(binary('\x20', '\x11', four)) == "unknown");
    CHECK(proxy_header::look(binary('\x21', '\x11', four) + "GET /").size == 28);
}

TEST_CASE("the beginning of a PROXY header waits for more, and other beginnings are none")
{
    const std::string whole_text = "PROXY TCP4 192.0.2.1 127.0.0.1 4096 8080\r\n",
                      whole_binary = binary('\x21', '\x11', four);
    for (const auto& whole : {whole_text, whole_binary})
        for (std::size_t size = 0; size < whole.size(); ++size) {
            INFO(size);
            CHECK(client_of(whole.substr(0, size)) == "more");
        }
    for (const auto& other :
         {"GET / HTTP/1.1\r\n"s, "POST /mcp"s, "PROPFIND /"s, "\x16\x03\x01\x02"s, "\r\nGET /"s, "\0"s, "proxy "s})
        CHECK(client_of(other) == "none");
}

TEST_CASE("a PROXY header that breaks the rules is refused")
{
    for (const auto& bad :
         {"PROXY \r\n"s, "PROXY TCP4\r\n"s, "PROXY TCP5 192.0.2.1 127.0.0.1 1 2\r\n"s,
          "PROXY  TCP4 192.0.2.1 127.0.0.1 1 2\r\n"s, "PROXY TCP4 192.0.2.1 127.0.0.1 1\r\n"s,
          "PROXY TCP4 192.0.2.1 127.0.0.1 1 2 3\r\n"s, "PROXY TCP4 192.0.2.1 127.0.0.1 1 2 \r\n"s,
          "PROXY TCP4 192.0.2.1 127.0.0.1 1 65536\r\n"s, "PROXY TCP4 192.0.2.1 127.0.0.1 01 2\r\n"s,
          "PROXY TCP4 192.0.2.1 127.0.0.1 -1 2\r\n"s, "PROXY TCP4 ::1 ::1 1 2\r\n"s,
          "PROXY TCP6 192.0.2.1 127.0.0.1 1 2\r\n"s, "PROXY TCP4 192.0.2.1x 127.0.0.1 1 2\r\n"s,
          "PROXY TCP4 192.0.2 127.0.0.1 1 2\r\n"s, "PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n"s, "PROXY UNKNOWNX\r\n"s,
          "PROXY tcp4 192.0.2.1 127.0.0.1 1 2\r\n"s, "PROXY TCP4 192.0.2.1 127.0.0.1 1 2\n"s + std::string(100, 'x'),
          "PROXY UNKNOWN " + std::string(200, 'x') + "\r\n"})
        CHECK((client_of(bad) == "refused" ? "" : bad) == "");
    for (const auto& bad : {binary('\x11', '\x11', four), binary('\x22', '\x11', four), binary('\x21', '\x12', four),
                            binary('\x21', '\x11', four.substr(1)), binary('\x21', '\x21', four),
                            binary('\x21', '\x31', "short"), binary('\x21', '\x41', six), mark + "\x21\x11\xff\xff"s})
        CHECK(client_of(bad) == "refused");
}

}  // namespace cmcp
