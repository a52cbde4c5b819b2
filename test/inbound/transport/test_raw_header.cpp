#include "http/raw_header.hpp"

#include "test/support/catch.hpp"

#include <string>

using namespace cmcp;
using namespace std::string_literals;
using verdict = raw_header::verdict;

namespace {

verdict judge(const std::string& bytes, int* status = nullptr)
{
    raw_header header(1024, 10);
    auto result = header.look(bytes);
    if (status != nullptr) *status = header.status();
    return result;
}

}  // namespace

TEST_CASE("a header that arrives byte by byte is complete at its empty line")
{
    std::string bytes = "GET / HTTP/1.1\r\nHost: a\r\n\r\nrest";
    raw_header header(1024);
    std::size_t size = 0;
    for (std::size_t i = 1; i <= bytes.size() && size == 0; ++i)
        if (header.look(std::string_view(bytes).substr(0, i)) == verdict::complete) size = header.size();
    CHECK(size == bytes.size() - 4);
}

TEST_CASE("one empty line before a request is passed over, a flood is refused")
{
    raw_header header(1024);
    REQUIRE(header.look("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n") == verdict::complete);
    CHECK(header.begin() == 2);
    CHECK(judge("\r\n\r\n\r\n\r\n\r\n") == verdict::refused);
}

TEST_CASE("what parsers disagree about is refused")
{
    auto bad = {"GET / HTTP/1.1\nHost: a\n\n",
                "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
                "GET / HTTP/1.1\r\nA: 1\r\n folded\r\n\r\n",
                "GET  / HTTP/1.1\r\n\r\n",
                "GET / HTTP/1.1 \r\n\r\n",
                "GET / HTTP/1.1\r\nA: \rb\r\n\r\n",
                "GET / HTTP/1.1\r\n: a\r\n\r\n",
                "GET / HTTP/1.1\r\nnothing\r\n\r\n",
                "G(T / HTTP/1.1\r\n\r\n",
                "GET /\r\n",
                "\x16\x03\x01"};
    for (const auto* each : bad) {
        INFO(each);
        CHECK(judge(each) == verdict::refused);
    }
    CHECK(judge(std::string("GET / HTTP/1.1\r\nX-\0A: 1\r\n\r\n"s)) == verdict::refused);
}

TEST_CASE("control characters are refused wherever they stand in a value, and all other bytes are not")
{
    const std::string before = "GET / HTTP/1.1\r\nHost: ", after = "\r\n\r\n";
    for (unsigned byte = 0; byte < 256; ++byte)
        for (std::size_t at = 0; at < 20; ++at) {
            std::string value(20, byte % 2 == 0 ? 'a' : '\xff');
            value[at] = static_cast<char>(byte);
            const bool is_control = (byte < 0x20 && byte != '\t') || byte == 0x7f;
            CAPTURE(byte, at);
            if (judge(before + value + after) != (is_control ? verdict::refused : verdict::complete))
                FAIL("is judged otherwise");
        }
}

TEST_CASE("limits of the header have their own status")
{
    int status = 0;
    CHECK(judge("GET /" + std::string(2000, 'a'), &status) == verdict::refused);
    CHECK(status == 414);
    CHECK(judge("GET / HTTP/1.1\r\nA: " + std::string(2000, 'a'), &status) == verdict::refused);
    CHECK(status == 431);
    std::string many = "GET / HTTP/1.1\r\n";
    for (int i = 0; i < 12; ++i) many += "A: 1\r\n";
    CHECK(judge(many, &status) == verdict::refused);
    CHECK(status == 431);
    CHECK(judge("GET / HTTP/9.9\r\n", &status) == verdict::refused);
    CHECK(status == 505);
}
