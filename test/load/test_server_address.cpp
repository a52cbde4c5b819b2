#include "test/support/catch.hpp"

#include "load/server_address.hpp"

#include <stdexcept>

using namespace cmcp::load;

TEST_CASE("addresses are read, and what is wrong with them is said")
{
    auto plain = parse_address("http://localhost:8000");
    CHECK(plain.host == "localhost");
    CHECK(plain.port == 8000);
    CHECK(plain.path.empty());
    CHECK_FALSE(plain.secure);
    auto v6 = parse_address("http://[::1]:90/prefix/mcp");
    CHECK(v6.host == "::1");
    CHECK(v6.port == 90);
    CHECK(v6.path == "/prefix/mcp");
    CHECK(v6.authority() == "[::1]:90");
    auto secure = parse_address("https://Mcp.Example.com/mcp?x=1#part");
    CHECK(secure.secure);
    CHECK(secure.port == 443);
    CHECK(secure.url() == "https://mcp.example.com/mcp?x=1");
    for (const auto* each :
         {"ftp://x", "x:80", "http://x:99999", "http://x:0", "http://:80", "http://user:word@x/", "http://a b/"}) {
        CAPTURE(each);
        CHECK_THROWS_AS(parse_address(each), std::invalid_argument);
    }
}

TEST_CASE("the endpoint event is resolved against the stream's address")
{
    auto stream = parse_address("http://127.0.0.1:8000/sse");
    CHECK(resolve_endpoint(stream, "/messages?sessionId=a") == "/messages?sessionId=a");
    CHECK(resolve_endpoint(stream, "messages?sessionId=a") == "/messages?sessionId=a");
    CHECK(resolve_endpoint(stream, "http://127.0.0.1:8000/m?s=1") == "/m?s=1");
    auto behind = parse_address("https://host/pre/sse?key=1");
    CHECK(resolve_endpoint(behind, "messages?sessionId=a") == "/pre/messages?sessionId=a");
    CHECK(resolve_endpoint(behind, "/messages?sessionId=a") == "/messages?sessionId=a");
    CHECK(resolve_endpoint(behind, "?sessionId=a") == "/pre/sse?sessionId=a");
    CHECK(resolve_endpoint(behind, "https://HOST:443/m") == "/m");
}

TEST_CASE("an endpoint of another origin is refused, as clients do")
{
    auto stream = parse_address("http://127.0.0.1:8000/sse");
    for (const auto* each :
         {"http://other:8000/m", "http://127.0.0.1:8001/m", "https://127.0.0.1:8000/m", "//other/m", "a b"}) {
        CAPTURE(each);
        CHECK_THROWS_AS(resolve_endpoint(stream, each), std::invalid_argument);
    }
}
