#include "directory/directory_reply.hpp"
#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"

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

namespace {

// Why the bytes are refused; empty: they are not.
std::string problem_of(std::string_view bytes, directory_replies::limits of = {})
{
    directory_replies replies(of);
    try {
        for (std::size_t at = 0; at < bytes.size(); at += 4096) {
            replies.take(bytes.substr(at, 4096));
            while (replies.next()) {
            }
        }
    } catch (const directory_away& wrong) {
        return wrong.what();
    }
    return {};
}

std::string repeated(std::string_view text, std::size_t times)
{
    std::string all;
    for (std::size_t i = 0; i < times; ++i) all += text;
    return all;
}

}  // namespace

TEST_CASE("an answer of a directory is refused before it takes more memory than one may")
{
    for (const std::string& claims :
         {std::string("*1000000000\r\n"), std::string("*2147483647\r\n"), std::string("*2\r\n:1\r\n*100000\r\n"),
          "*11\r\n" + repeated("*10000\r\n" + repeated(":1\r\n", 10'000), 11)}) {
        INFO(claims.substr(0, 40));
        CHECK(problem_of(claims).find("larger") != std::string::npos);
    }
    directory_replies::limits small;
    small.bytes = 64 * 1024;
    for (const std::string& endless :
         {"$2000000000\r\n" + std::string(100'000, 'x'), "+" + std::string(100'000, 'x'),
          ":" + std::string(100'000, '1'), "*3\r\n" + repeated("$30000\r\n" + std::string(30'000, 'x') + "\r\n", 3)}) {
        INFO(endless.substr(0, 20));
        CHECK_FALSE(problem_of(endless, small).empty());
    }
    CHECK_FALSE(problem_of(repeated("*1\r\n", 500'000)).empty());
    CHECK_FALSE(problem_of("$-99999999999999999999\r\n*-5\r\n").empty());
}

TEST_CASE("many answers of a directory may be larger together than one")
{
    directory_replies::limits small;
    small.bytes = 64 * 1024;
    small.elements = 100;
    const std::string one = "*100\r\n" + repeated("$5\r\nhello\r\n", 100);
    CHECK(problem_of(repeated(one, 1000), small).empty());
    CHECK_FALSE(problem_of("*101\r\n" + repeated(":1\r\n", 101), small).empty());
}

TEST_CASE("a long error of a directory is cut")
{
    directory_replies replies;
    replies.take("-" + std::string(5000, 'x') + "\r\n");
    CHECK(replies.next()->text == std::string(directory_replies::limits::error_text, 'x'));
}

TEST_CASE("answers of a directory are read in linear time")
{
    for (const std::string_view element : {"$3\r\nabc\r\n", ":1\r\n", "*1\r\n$-1\r\n"}) {
        const auto list = [element](std::size_t elements) {
            return "*" + std::to_string(elements) + "\r\n" + repeated(element, elements);
        };
        const auto many_times = [](const std::string& bytes) {
            for (int i = 0; i < 20; ++i) problem_of(bytes);
        };
        CHECK(test::growth(list, many_times, 2'000) < test::linear_growth);
    }
}
