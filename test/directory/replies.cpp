#include "directory/directory_reply.hpp"
#include "test/support/catch.hpp"

#include <stdexcept>

using namespace cmcp;
using kind = directory_reply::kind;

TEST_CASE("a command of the directory is bytes that hold any words")
{
    CHECK(directory_bytes({"GET", "a b"}) == "*2\r\n$3\r\nGET\r\n$3\r\na b\r\n");
    const std::string odd("\0\r\n$", 4);
    CHECK(directory_bytes({"SET", odd, ""}) == "*3\r\n$3\r\nSET\r\n$4\r\n" + odd + "\r\n$0\r\n\r\n");
}

TEST_CASE("answers of the directory are read wherever the connection cuts them")
{
    const std::string bytes = "+OK\r\n:-7\r\n$-1\r\n$5\r\na\r\nbc\r\n*3\r\n$1\r\nx\r\n*1\r\n:1\r\n$-1\r\n-ERR no\r\n";
    for (std::size_t part = 1; part <= bytes.size(); ++part) {
        directory_replies replies;
        std::vector<directory_reply> all;
        for (std::size_t at = 0; at < bytes.size(); at += part) {
            replies.take(std::string_view(bytes).substr(at, part));
            while (auto one = replies.next()) all.push_back(std::move(*one));
        }
        REQUIRE(all.size() == 6);
        CHECK((all[0].is == kind::text && all[0].text == "OK"));
        CHECK((all[1].is == kind::number && all[1].number == -7));
        CHECK(all[2].is == kind::nothing);
        CHECK(all[3].text == "a\r\nbc");
        REQUIRE((all[4].is == kind::list && all[4].items.size() == 3));
        CHECK(all[4].items[1].items.at(0).number == 1);
        CHECK(all[4].items[2].is == kind::nothing);
        CHECK((all[5].is == kind::error && all[5].text == "ERR no"));
    }
}

TEST_CASE("what is no answer of a directory is refused")
{
    directory_replies replies;
    replies.take("HTTP/1.1 400 Bad Request\r\n");
    CHECK_THROWS_AS(replies.next(), std::runtime_error);
}
