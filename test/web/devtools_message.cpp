#include "web/devtools_message.hpp"

#include "test/support/catch.hpp"

using namespace cmcp;

TEST_CASE("DevTools messages come whole however the stream is cut")
{
    const std::string stream("{\"a\":1}\0{\"b\":2}\0\0{\"c\"", 21);
    for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
        devtools_splitter splitter(100);
        std::vector<std::string> whole;
        for (std::size_t at = 0; at < stream.size(); at += piece) {
            splitter.add(std::string_view(stream).substr(at, piece));
            while (auto message = splitter.next()) whole.push_back(*message);
        }
        CHECK(whole == std::vector<std::string>{"{\"a\":1}", "{\"b\":2}", ""});
    }
}

TEST_CASE("a DevTools message that never ends is given up")
{
    devtools_splitter splitter(64);
    splitter.add(std::string(60, 'x'));
    CHECK_FALSE(splitter.next());
    splitter.add(std::string(60, 'x'));
    CHECK_THROWS_AS(splitter.next(), devtools_closed);
}

TEST_CASE("half surrogate pairs in a DevTools message become U+FFFD, whole ones stay")
{
    const auto parsed =
        parse_devtools(R"({"a":"\ud800x","b":"\udc00","c":"\ud83d\ude00","d":"\\ud800","e":"\ud800\ud83d\ude00"})");
    CHECK(parsed.at("a") == "\uFFFDx");
    CHECK(parsed.at("b") == "\uFFFD");
    CHECK(parsed.at("c") == "\U0001F600");
    CHECK(parsed.at("d") == "\\ud800");
    CHECK(parsed.at("e") == "\uFFFD\U0001F600");
}

TEST_CASE("what is no JSON object ends the DevTools conversation")
{
    for (const char* text : {"", "[]", "{", "null", "{\"a\":}"}) {
        INFO(text);
        CHECK_THROWS_AS(parse_devtools(text), devtools_closed);
    }
}
