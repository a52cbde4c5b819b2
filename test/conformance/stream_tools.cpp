// Tools that send something before their result.
#include "test/conformance/fixture_tool.hpp"
#include "test/conformance/fixtures.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

namespace cmcp::fixture {

namespace {

awaitable<> pause()
{
    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, std::chrono::milliseconds(50));
    co_await timer.async_wait(asio::use_awaitable);
}

awaitable<> log_line(request_io& io, std::string text)
{
    json::value data = json::string(std::move(text));
    co_await io.log(log_severity::info, "conformance", std::move(data));
}

awaitable<tool_result> with_logging(tool_context& context, json::object)
{
    co_await log_line(context.io, "Tool execution started");
    co_await pause();
    co_await log_line(context.io, "Tool processing data");
    co_await pause();
    co_await log_line(context.io, "Tool execution completed");
    co_return text_result("Tool with logging executed successfully");
}

awaitable<tool_result> with_progress(tool_context& context, json::object)
{
    for (const double step : {0.0, 50.0, 100.0}) {
        std::string message = "Completed step " + std::to_string(static_cast<int>(step)) + " of 100";
        co_await context.io.progress(step, 100.0, std::move(message));
        co_await pause();
    }
    co_return text_result("Tool with progress executed successfully");
}

awaitable<tool_result> reconnection(tool_context& context, json::object)
{
    co_await pause();
    context.io.close_stream_for_polling();
    co_await pause();
    co_return text_result("Reconnection test completed successfully");
}

}  // namespace

void add_stream_tools(server_core& core)
{
    auto& tools = core.tools();
    tools.add(make_tool("test_tool_with_logging", "Sends three log messages", with_logging));
    tools.add(make_tool("test_logging_tool", "Sends log messages where the caller wants them", with_logging));
    tools.add(make_tool("test_tool_with_progress", "Reports progress", with_progress));
    tools.add(make_tool("test_reconnection", "Closes its stream before it answers", reconnection));
}

}  // namespace cmcp::fixture
