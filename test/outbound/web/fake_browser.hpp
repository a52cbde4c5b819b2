#pragma once

#include "async/blocking_pool.hpp"
#include "async/task_group.hpp"
#include "test/support/catch.hpp"
#include "test/support/eventually.hpp"
#include "test/support/run_coroutine.hpp"
#include "web/devtools_connection.hpp"

#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <optional>

namespace cmcp::test {

/// A loop, and the threads that parse long messages.
struct devtools_stage {
    asio::io_context io;
    blocking_pool pool{1};
};

/// The browser's end of a connection: reads commands and sends the test's messages.
struct fake_browser {
    std::shared_ptr<devtools_stage> stage;
    asio::io_context& io = stage->io;
    devtools_connection::stream peer{io};
    std::shared_ptr<devtools_connection> connection;
    std::string unread;
    task_group tasks{io.get_executor()};
    bool written = true;  ///< what say_beside() began

    explicit fake_browser(std::size_t longest = 1 << 20) : fake_browser(std::make_shared<devtools_stage>(), longest) {}
    explicit fake_browser(std::shared_ptr<devtools_stage> on, std::size_t longest = 1 << 20) : stage(std::move(on))
    {
        devtools_connection::stream ours(io);
        asio::local::connect_pair(ours, peer);
        connection = std::make_shared<devtools_connection>(std::move(ours), stage->pool, "anna", longest);
        tasks.spawn("reader", connection->run());
    }
    ~fake_browser()
    {
        connection->close("over");
        io.poll();
    }

    /// A call in the background, with its result or error as text.
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
    /// For more than the socket takes at once.
    void say_beside(std::string text)
    {
        text.push_back('\0');
        written = false;
        tasks.spawn("writer", write(std::move(text)));
    }
    awaitable<> write(std::string text)
    {
        const auto bytes = asio::buffer(text);
        co_await asio::async_write(peer, bytes, as_tuple);
        written = true;
    }
    void until(const std::shared_ptr<outcome>& awaited)
    {
        REQUIRE(eventually(io, [&] { return awaited->text.has_value(); }));
    }
};

}  // namespace cmcp::test
