#include "transport/event_log.hpp"
#include "transport/rpc_over_http.hpp"
#include "transport/sse_frame.hpp"

#include "test/support/catch.hpp"

using namespace cmcp;

namespace {

event_log::text text(std::string value) { return std::make_shared<const std::string>(std::move(value)); }

}  // namespace

TEST_CASE("event ids are read back as they were written, anything else is none")
{
    for (auto id : {event_id{0, 0}, event_id{3, 17}, event_id{4294967295u, 18446744073709551615u}})
        CHECK(parse_event_id(to_string(id)) == id);
    for (auto bad : {"", "-", "1", "1-", "-1", "a-1", "1-2-3", "01-1", "1--1", "4294967296-1", " 1-1", "1-1 "})
        CHECK_FALSE(parse_event_id(bad));
    CHECK_FALSE(parse_event_id(std::string(100000, '9')));
}

TEST_CASE("line ends in the data of an event cannot end it")
{
    std::string out;
    append_event(out, "message", "a\nb\r\n\r\nc\rd", event_id{1, 2});
    CHECK(out == "id: 1-2\nevent: message\ndata: a\ndata: b\ndata: \ndata: c\ndata: d\n\n");
}

TEST_CASE("the log gives the later events of the same stream")
{
    const auto budget = std::make_shared<memory_budget>();
    event_log log(10'000, budget->of(""));
    log.add({1, 1}, text("a"));
    log.add({2, 1}, text("x"));
    log.add({1, 2}, text("b"));
    log.add({1, 3}, text("c"));
    auto missed = log.after({1, 1});
    REQUIRE(missed.size() == 2);
    CHECK(*missed[0].data == "b");
    CHECK(*missed[1].data == "c");
    CHECK(log.after({3, 0}).empty());
}

TEST_CASE("the log stays within its size and within what all logs share")
{
    auto budget = std::make_shared<memory_budget>(6000);
    event_log log(4000, budget->of(""));
    for (std::uint64_t i = 1; i <= 100; ++i) log.add({1, i}, text(std::string(500, 'x')));
    CHECK(log.bytes() <= 4000);
    CHECK(log.after({1, 0}).back().id.sequence == 100);
    log.add({1, 101}, text(std::string(5000, 'x')));
    CHECK(log.bytes() <= 4000);
    {
        event_log other(4000, budget->of(""));
        for (std::uint64_t i = 1; i <= 100; ++i) other.add({1, i}, text(std::string(500, 'x')));
        CHECK(budget->used() <= 6000);
    }
    CHECK(budget->used() == log.bytes());
    log.forget_before(std::chrono::steady_clock::now() + std::chrono::seconds(1));
    CHECK(budget->used() == 0);
}

TEST_CASE("Accept is read as clients write it")
{
    CHECK(parse_accept(std::nullopt).events);
    CHECK(parse_accept("*/*").json);
    CHECK_FALSE(parse_accept("application/json").events);
    CHECK_FALSE(parse_accept("text/event-stream").json);
    CHECK(parse_accept("Application/JSON;q=1 , text/event-stream").events);
    auto neither = parse_accept("image/png");
    CHECK_FALSE(neither.json);
    CHECK_FALSE(neither.events);
}
