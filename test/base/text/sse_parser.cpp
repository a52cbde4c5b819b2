#include "text/sse_parser.hpp"

#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"

#include <vector>

using namespace cmcp;

TEST_CASE("the id of an event stays until another one comes, also without data")
{
    std::vector<std::string> heard;
    sse_parser events([&](std::string_view name, std::string_view data) {
        heard.push_back(std::string(name) + ":" + std::string(data));
    });
    events.feed("id: 1\n\ndata: a\n\n\n");
    CHECK(events.last_id() == "1");
    events.feed("id: 2\nevent: x\r\ndata: b\r");
    CHECK(events.last_id() == "1");
    events.feed("\n\r\n");
    CHECK(events.last_id() == "2");
    events.feed("id\n\n");
    CHECK(events.last_id() == "");
    CHECK(heard == std::vector<std::string>{"message:a", "x:b"});
}

TEST_CASE("events take time in the measure of their length")
{
    for (const std::string_view piece : {"\n", "\r\n", "data\n", "data:x\n\n", "id:1\n\n", "event:x\n", ":\n", "x"}) {
        const auto stream = [&](std::size_t size) {
            std::string all = "id: " + std::string(size / 2, 'i') + "\n";
            while (all.size() < size) all += piece;
            return all;
        };
        INFO(piece);
        CHECK(test::growth(
                  stream,
                  [](const std::string& of) {
                      sse_parser events([](std::string_view, std::string_view) {});
                      events.feed(of);
                  },
                  2'000'000) < test::linear_growth);
    }
}
