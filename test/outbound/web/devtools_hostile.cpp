#include "test/outbound/web/fake_browser.hpp"

#include <boost/asio/post.hpp>

#include <future>

using namespace cmcp;
using namespace cmcp::test;

namespace {

std::string repeated(const std::string& part, std::size_t times)
{
    std::string text;
    for (std::size_t i = 0; i != times; ++i) text += part;
    return text;
}

std::string result_of(const std::string& value) { return R"({"id":1,"result":{"x":)" + value + "}}"; }

// The beginning of what a call says that this message answers.
std::string outcome_of(const std::string& message, std::size_t longest = 16 << 20)
{
    fake_browser b(longest);
    auto call = b.call("", "A");
    b.hear();
    b.say_beside(message);
    b.until(call);
    return call->text->substr(0, 80);
}

// The only thread of the pool; no name of a principal comes before this one.
awaitable<> occupy(blocking_pool& pool, std::shared_future<void> end)
{
    auto work = [end] { end.wait(); };
    co_await pool.run("(busy)", work);
}

// Everything that a browser has written is read then, and nothing but the pool is waited for.
void let_read(fake_browser& b)
{
    b.io.restart();
    while (!b.written) b.io.run_one();
    b.io.poll();
}

}  // namespace

TEST_CASE("a DevTools message that is nested deeply, has too many values or is too long ends its call")
{
    CHECK(outcome_of(result_of(repeated("[", 100) + repeated("]", 100))).starts_with(R"({"x":[[)"));
    CHECK(outcome_of(result_of(repeated("[", 1000) + repeated("]", 1000))) ==
          "closed: the browser sent a message that is nested too deeply");
    CHECK(outcome_of(repeated("[", 4 << 20)) == "closed: the browser sent a message of too many values");
    CHECK(outcome_of(result_of("[" + repeated("[],", 1 << 20) + "1]")) ==
          "closed: the browser sent a message of too many values");
    CHECK(outcome_of(result_of("\"" + repeated("[,", 1 << 20) + "\"")).starts_with(R"({"x":"[,[,)"));
    CHECK(outcome_of(result_of("\"" + repeated("x", 4 << 20) + "\""), 1 << 20) ==
          "closed: the browser sent a message that is too long");
}

TEST_CASE("half surrogate pairs are mended in a long DevTools message, too")
{
    const auto text = outcome_of(result_of("\"\\ud800" + repeated("x", 1 << 20) + "\""));
    CHECK(text.starts_with("{\"x\":\"\uFFFDxx"));
}

TEST_CASE("answers to what the server never asked are dropped")
{
    fake_browser b;
    auto call = b.call("", "A");
    b.hear();
    for (const char* id : {"2", "0", "-1", "1.0", "\"1\"", "null", "[]", "18446744073709551615"})
        b.say(std::string(R"({"id":)") + id + R"(,"result":{"x":"foreign"}})");
    b.say_beside(repeated(std::string(R"({"id":99,"result":{}})") + '\0', 10'000) + result_of("1"));
    b.until(call);
    CHECK(*call->text == R"({"x":1})");
}

TEST_CASE("long DevTools messages and floods of short ones are parsed beside the loop")
{
    const auto message = GENERATE(result_of("\"" + repeated("x", 8 << 20) + "\""),
                                  repeated(std::string(R"({"method":"e"})") + '\0', 1000) + result_of("1"));
    auto stage = std::make_shared<devtools_stage>();
    fake_browser hostile(stage, 16 << 20), other(stage);
    std::promise<void> end;
    hostile.tasks.spawn("busy", occupy(stage->pool, end.get_future().share()));
    auto waiting = hostile.call("", "A");
    hostile.hear();
    hostile.say_beside(message);
    let_read(hostile);
    auto call = other.call("", "A");
    other.hear();
    other.say(result_of("1"));
    other.until(call);
    CHECK_FALSE(waiting->text);
    end.set_value();
    hostile.until(waiting);
    CHECK(waiting->text->starts_with("{\"x\":"));
}

TEST_CASE("others have their turn while a flood of DevTools events is heard")
{
    constexpr std::size_t events = 2000;
    fake_browser b;
    std::size_t heard = 0, heard_before_other = 0;
    b.connection->listen("", [&](const std::string&, const json::object&) {
        if (heard++ == 0) asio::post(b.io, [&] { heard_before_other = heard; });
    });
    auto call = b.call("", "A");
    b.hear();
    b.say_beside(repeated(std::string(R"({"method":"e"})") + '\0', events) + result_of("1"));
    b.until(call);
    CHECK(heard == events);
    CHECK(heard_before_other < events / 10);
    b.connection->ignore("");
}

TEST_CASE("a browser that does not read its commands is given up")
{
    fake_browser b;
    auto call = b.call("", "A");
    b.hear();
    for (int i = 0; i != 2000; ++i) b.connection->send("", "B", {});
    b.until(call);
    CHECK(*call->text == "closed: the browser does not read its messages");
    auto late = b.call("", "C");
    b.until(late);
    CHECK(*late->text == "closed: the browser does not read its messages");
}
