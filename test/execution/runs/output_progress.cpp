#include "runs/output_collector.hpp"
#include "runs/progress_sender.hpp"
#include "test/execution/runs/run_support.hpp"

using namespace cmcp;
using namespace cmcp::test;
using namespace std::chrono_literals;

namespace {

constexpr auto out = output_stream::out;
constexpr auto err = output_stream::err;

struct progress_stage {
    asio::io_context io;
    recording_io seen{io.get_executor()};
    progress_sender sender;

    explicit progress_stage(progress_sender::pace pace) : sender(seen, pace) {}

    void start(awaitable<> work)
    {
        asio::co_spawn(io, std::move(work), [](std::exception_ptr e) {
            if (e) std::rethrow_exception(e);
        });
        settle();
    }
    void settle()
    {
        io.restart();
        io.poll();
    }
    void end()
    {
        sender.finish();
        settle();
    }
};

/// Each stream put together by its offsets; a gap or an overlap fails the test.
std::string stream_of(const recording_io& seen, output_stream which)
{
    std::string text;
    for (const auto& piece : seen.pieces) {
        if (piece.from != which) continue;
        CHECK(piece.offset == text.size());
        text += piece.text;
    }
    return text;
}

}  // namespace

TEST_CASE("the first text is sent at once and later text together")
{
    progress_stage s({.interval = 1h, .heartbeat = 2h});
    s.start(s.sender.run());
    s.start(s.sender.add(out, "one"));
    CHECK(s.seen.messages == std::vector<std::string>{"one"});
    s.start(s.sender.add(out, "two"));
    s.start(s.sender.add(out, "three"));
    CHECK(s.seen.messages.size() == 1);
    s.end();
    CHECK(s.seen.messages == std::vector<std::string>{"one", "twothree"});
    CHECK(stream_of(s.seen, out) == "onetwothree");
}

TEST_CASE("each stream has offsets of its own, and the order of arrival stays")
{
    progress_stage s({.interval = 1h, .heartbeat = 2h});
    for (const auto& [from, text] : {std::pair(err, "warning "), std::pair(out, "1\n"), std::pair(out, "2\n"),
                                     std::pair(err, "end"), std::pair(out, "\xc3\xa4")})
        s.start(s.sender.add(from, text));
    s.start(s.sender.run());
    s.end();
    CHECK(s.seen.messages == std::vector<std::string>{"warning 1\n2\nend\xc3\xa4"});
    CHECK(s.seen.pieces.size() == 4);
    CHECK(stream_of(s.seen, out) == "1\n2\n\xc3\xa4");
    CHECK(stream_of(s.seen, err) == "warning end");
}

TEST_CASE("a silent run gives heartbeats, which have no text")
{
    progress_stage s({.interval = 1ms, .heartbeat = 1ms});
    asio::co_spawn(s.io, s.sender.run(), [](std::exception_ptr) {});
    while (s.seen.messages.size() < 3) s.io.run_one();
    CHECK(s.seen.all().empty());
    CHECK(s.seen.pieces.empty());
    CHECK(s.seen.values[0] < s.seen.values[1]);
    CHECK(s.seen.values[1] < s.seen.values[2]);
    s.end();
}

TEST_CASE("steps are log messages, and do not put off the heartbeat")
{
    progress_stage s({.interval = 1ms, .heartbeat = 1ms});
    asio::co_spawn(s.io, s.sender.run(), [](std::exception_ptr) {});
    int count = 0;
    while (s.seen.messages.empty() || s.seen.logs.size() < 3) {
        s.sender.step("step " + std::to_string(count++));
        s.io.run_one();
    }
    CHECK(s.seen.logs.front() == "web: step 0");
    CHECK(s.seen.all().empty());
    s.end();
}

TEST_CASE("of counts that wait together only the last is told")
{
    progress_stage s({.interval = 1h, .heartbeat = 1h});
    for (const char* step : {"connecting", "received 1 KiB", "received 2 KiB", "parsing"}) s.sender.step(step);
    s.start(s.sender.run());
    s.end();
    CHECK(s.seen.logs == std::vector<std::string>{"web: connecting", "web: received 2 KiB", "web: parsing"});
}

TEST_CASE("a caller that does not read slows the producer and loses nothing")
{
    progress_stage s({.interval = 0ms, .heartbeat = 1h, .unsent = 4});
    s.seen.full = true;
    bool added = false;
    s.start(s.sender.run());
    s.start(s.sender.add(out, "1"));
    asio::co_spawn(s.io, s.sender.add(out, "23456"), [&](std::exception_ptr) { added = true; });
    s.settle();
    CHECK_FALSE(added);
    s.seen.open();
    while (!added) s.io.run_one();
    s.end();
    CHECK(s.seen.all() == "123456");
}

TEST_CASE("what streams is what the result has, also where bytes were no UTF-8 and came in pieces")
{
    run_stage s;
    using sandbox::stream;
    s.backend.prints = {{stream::out, "a\xff"},  {stream::err, "\xe2"}, {stream::out, "\xe2\x82"},
                        {stream::out, "\xac b"}, {stream::err, "\x82"}, {stream::out, "\xf0\x9f"},
                        {stream::err, "\xac!"}};
    const auto outcome = s.run();
    CHECK(outcome.out == "a\xef\xbf\xbd\xe2\x82\xac b\xef\xbf\xbd");
    CHECK(outcome.err == "\xe2\x82\xac!");
    CHECK(stream_of(s.progress, out) == outcome.out);
    CHECK(stream_of(s.progress, err) == outcome.err);
}
