#include "egress/dns_message.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using namespace std::string_literals;

namespace {

std::string question(const std::string& name, char type, const std::string& counts = "\0\1\0\0\0\0\0\0"s)
{
    return "\x12\x34\x01\x00"s + counts + name + "\0"s + type + "\0\1"s;
}

const std::string shop = "\3www\4Shop\4test\0"s;

}  // namespace

TEST_CASE("a question is read, and answered with its own words")
{
    const auto message = question(shop, 1);
    const auto read = read_dns_question(message);
    REQUIRE(read);
    CHECK(read->readable);
    CHECK(read->name == "www.Shop.test");
    CHECK(read->type == dns::a);
    const auto answer = write_dns_answer(*read, dns::outcome::done, boost::asio::ip::make_address("198.18.0.1"));
    CHECK(answer ==
          "\x12\x34\x85\x80\0\1\0\1\0\0\0\0"s + shop + "\0\1\0\1"s + "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\0\1"s);
    CHECK(write_dns_answer(*read, dns::outcome::no_such_name) ==
          "\x12\x34\x85\x83\0\1\0\0\0\0\0\0"s + shop + "\0\1\0\1"s);
}

TEST_CASE("what follows a question is allowed to be there")
{
    const auto message = question(shop, 28, "\0\1\0\0\0\0\0\1"s) + "\0\0\x29\x04\xd0\0\0\0\0\0\0"s;
    const auto read = read_dns_question(message);
    REQUIRE(read);
    CHECK(read->readable);
    CHECK(read->type == dns::aaaa);
}

TEST_CASE("an answer, or less than a header, is no question")
{
    auto message = question(shop, 1);
    message[2] = '\x81';
    CHECK_FALSE(read_dns_question(message));
    CHECK_FALSE(read_dns_question(message.substr(0, 11)));
}

TEST_CASE("questions that cannot be meant are answered as malformed")
{
    for (const auto& message :
         {question(shop, 1, "\0\2\0\0\0\0\0\0"s), question(shop, 1, "\0\0\0\0\0\0\0\0"s),
          question(shop, 1, "\0\1\0\1\0\0\0\0"s), question("\xc0\x0c"s, 1), question("\x40"s + std::string(64, 'a'), 1),
          question("\5abc"s, 1), question(std::string(300, '\1'), 1), "\x12\x34\x29\x00"s + question(shop, 1).substr(4),
          question(shop, 1).substr(0, 20)}) {
        const auto read = read_dns_question(message);
        REQUIRE(read);
        CHECK_FALSE(read->readable);
        CHECK(write_dns_answer(*read, dns::outcome::malformed).size() >= 12);
    }
}

TEST_CASE("a name of bytes that no host has is none")
{
    const auto message = question("\3a.b\4test\0"s, 1);
    const auto read = read_dns_question(message);
    REQUIRE(read);
    CHECK(read->readable);
    CHECK(read->name.empty());
}
