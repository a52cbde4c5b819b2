#include "web/devtools_connection.hpp"

#include "async/task_group.hpp"
#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"

#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <optional>

using namespace cmcp;
using namespace cmcp::test;

namespace {

// The browser's end of the connection: reads commands and sends the test's messages.
struct fake_browser {
    asio::io_context io;
    devtools_connection::stream peer{io};
    std::shared_ptr<devtools_connection> connection;
    std::string unread;
    task_group tasks{io.get_executor()};

    explicit fake_browser(std::size_t longest = 1 << 20)
    {
        devtools_connection::stream ours(io);
        asio::local::connect_pair(ours, peer);
        connection = std::make_shared<devtools_connection>(std::move(ours), longest);
        tasks.spawn("reader", connection->run());
    }
    ~fake_browser()
    {
        connection->close("over");
        io.poll();
    }

    // A call in the background, with its result or error as text.
    struct outcome {
        std::optional<std::string> text;
    };
    std::shared_ptr<outcome> call(std::string session, std::string method)
    {
        auto outcome_of_call = std::make_shared<outcome>();
        tasks.spawn("call", call_and_keep(connection, std::move(session), std::move(method), outcome_of_call));
        return outcome_of_call;
    }
    static awaitable<> call_and_keep(std::shared_ptr<devtools_connection> connection, std::string session,
                                     std::string method, std::shared_ptr<outcome> into)
    {
        try {
            auto result = co_await connection->call(std::move(session), std::move(method), json::object());
            into->text = json::serialize(result);
        } catch (const devtools_error& refused) {
            into->text = std::string("refused: ") + refused.what();
        } catch (const devtools_closed& ended) {
            into->text = std::string("closed: ") + ended.what();
        }
    }
    json::object hear() { return run_coroutine(io, read()); }
    awaitable<json::object> read()
    {
        auto buffer = asio::dynamic_buffer(unread);
        const auto length = co_await asio::async_read_until(peer, buffer, '\0', asio::use_awaitable);
        const auto message = json::parse(unread.substr(0, length - 1));
        unread.erase(0, length);
        co_return message.as_object();
    }
    void say(std::string text)
    {
        text.push_back('\0');
        asio::write(peer, asio::buffer(text));
    }
    void until(const std::shared_ptr<outcome>& awaited)
    {
        const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        io.restart();
        while (!awaited->text && std::chrono::steady_clock::now() < patience)
            io.run_one_for(std::chrono::milliseconds(100));
        REQUIRE(awaited->text);
    }
};

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
    auto kept = b.call("T", "B");
    b.hear();
    b.hear();
    b.connection->abandon("S", "the page crashed");
    b.until(lost);
    CHECK(*lost->text == "refused: the page crashed");
    CHECK_FALSE(kept->text);
    b.say(R"({"id":2,"result":{}})");
    b.until(kept);
    CHECK(*kept->text == "{}");
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
