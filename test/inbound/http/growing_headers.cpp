#include "http/proxy_header.hpp"
#include "http/raw_header.hpp"

#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"

#include <string>

using namespace cmcp;

TEST_CASE("a header that arrives byte by byte is read in linear time")
{
    const auto byte_by_byte = [](const std::string& bytes) {
        raw_header header(1u << 30, 1u << 30);
        for (std::size_t end = 1; end <= bytes.size(); ++end) header.look(std::string_view(bytes).substr(0, end));
    };
    for (const std::string line : {"a: b\r\n", "a:\r\n", "abcdefgh: ijklmnopqrstuvwxyz\r\n"}) {
        const auto header = [&line](std::size_t size) {
            std::string text = "GET / HTTP/1.1\r\n";
            while (text.size() < size) text += line;
            return text + "\r\n";
        };
        CHECK(test::growth(header, byte_by_byte, 100'000) < test::linear_growth);
    }
    const auto one_line = [](std::size_t size) { return "GET /" + std::string(size, 'x'); };
    CHECK(test::growth(one_line, byte_by_byte, 100'000) < test::linear_growth);
}

TEST_CASE("a PROXY header without an end is refused when it is longer than any")
{
    CHECK(proxy_header::look("PROXY TCP4 " + std::string(1u << 20, '1')).is == proxy_header::state::refused);
    const std::string mark("\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff", 16);
    CHECK(proxy_header::look(mark + std::string(100, 'x')).is == proxy_header::state::refused);
}
