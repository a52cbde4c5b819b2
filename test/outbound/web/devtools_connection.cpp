#include "test/outbound/web/fake_browser.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

json::object parsed(std::string text)
{
    text.push_back('\0');
    return whole(parse_devtools(std::move(text))).at(0);
}

}  // namespace

TEST_CASE("answers of the browser find their question in whatever order they come")
{
    fake_browser b;
    auto first = b.call("", "A");
    auto second = b.call("S", "B");
    const auto heard_first = b.hear();
    const auto heard_second = b.hear();
    CHECK(heard_first.at("method") == "A");
    CHECK_FALSE(heard_first.contains("sessionId"));
    CHECK(heard_second.at("sessionId") == "S");
    b.say(R"({"id":2,"error":{"code":-32000,"message":"no"}})");
    b.say(R"({"id":1,"result":{"x":1}})");
    b.until(first);
    b.until(second);
    CHECK(*first->text == R"({"x":1})");
    CHECK(*second->text == "refused: no");
}

TEST_CASE("events reach the listener of their session only, also when it takes itself away")
{
    fake_browser b;
    std::vector<std::string> seen;
    b.connection->listen("S", [&](const std::string& method, const json::object&) {
        seen.push_back(method);
        b.connection->ignore("S");
    });
    auto call = b.call("", "A");
    b.hear();
    b.say(R"({"method":"other","sessionId":"T","params":{}})");
    b.say(R"({"method":"first","sessionId":"S","params":{}})");
    b.say(R"({"method":"second","sessionId":"S","params":{}})");
    b.say(R"({"id":1,"result":{}})");
    b.until(call);
    CHECK(seen == std::vector<std::string>{"first"});
}

TEST_CASE("a page that is gone ends the calls of its session and no others")
{
    fake_browser b;
    auto lost = b.call("S", "A");
    auto of_other = b.call("T", "B");
    b.hear();
    b.hear();
    b.connection->abandon("S", "the page crashed");
    b.until(lost);
    CHECK(*lost->text == "refused: the page crashed");
    CHECK_FALSE(of_other->text);
    b.say(R"({"id":2,"result":{}})");
    b.until(of_other);
    CHECK(*of_other->text == "{}");
}

TEST_CASE("when the conversation ends every call is told why, and later ones at once")
{
    fake_browser b;
    auto waiting = b.call("S", "A");
    b.hear();
    b.connection->close("signal 9");
    b.until(waiting);
    CHECK(*waiting->text == "closed: signal 9");
    auto late = b.call("S", "B");
    b.until(late);
    CHECK(*late->text == "closed: signal 9");
}

TEST_CASE("DevTools messages come whole however the stream is cut")
{
    const std::string stream("{\"method\":\"a\"}\0{\"method\":\"b\"}\0", 30);
    for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
        fake_browser b;
        std::string heard;
        b.connection->listen("", [&](const std::string& method, const json::object&) { heard += method; });
        for (std::size_t at = 0; at < stream.size(); at += piece) {
            asio::write(b.peer, asio::buffer(stream.substr(at, piece)));
            b.io.poll();
        }
        CHECK(heard == "ab");
        b.connection->ignore("");
    }
}

TEST_CASE("a DevTools message that never ends is given up")
{
    fake_browser b(64);
    auto waiting = b.call("", "A");
    b.hear();
    asio::write(b.peer, asio::buffer(std::string(120, 'x')));
    b.until(waiting);
    CHECK(*waiting->text == "closed: the browser sent a message that is too long");
}

TEST_CASE("half surrogate pairs in a DevTools message become U+FFFD, whole ones stay")
{
    const auto message =
        parsed(R"({"a":"\ud800x","b":"\udc00","c":"\ud83d\ude00","d":"\\ud800","e":"\ud800\ud83d\ude00"})");
    CHECK(message.at("a") == "\uFFFDx");
    CHECK(message.at("b") == "\uFFFD");
    CHECK(message.at("c") == "\U0001F600");
    CHECK(message.at("d") == "\\ud800");
    CHECK(message.at("e") == "\uFFFD\U0001F600");
}

TEST_CASE("what is no JSON object ends the DevTools conversation")
{
    for (const char* text : {"", "[]", "{", "null", "{\"a\":}"}) {
        INFO(text);
        CHECK_THROWS_AS(parsed(text), devtools_closed);
    }
}
