#pragma once

#include "test/protocol/mcp/harness.hpp"

#include <boost/asio/this_coro.hpp>

namespace cmcp::test {

inline awaitable<tool_result> echo(tool_context&, json::object arguments)
{
    tool_result result;
    result.structured = std::move(arguments);
    co_return result;
}

inline int running_waits = 0;

struct wait_counter {
    wait_counter() { ++running_waits; }
    wait_counter(const wait_counter&) = delete;
    wait_counter& operator=(const wait_counter&) = delete;
    ~wait_counter() { --running_waits; }
};

/// Says that it has begun, then waits until it is cancelled.
inline awaitable<tool_result> wait_forever(tool_context& context, json::object)
{
    wait_counter counted;
    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer never(executor, asio::steady_timer::time_point::max());
    json::object begun;
    co_await context.io.notify("test/begun", std::move(begun));
    co_await never.async_wait(asio::use_awaitable);
    co_return tool_result{};
}

inline awaitable<tool_result> throw_something(tool_context&, json::object)
{
    throw std::runtime_error("secret detail");
    co_return tool_result{};
}

inline awaitable<tool_result> ask_twice(tool_context& context, json::object)
{
    json::object first_params = parse(R"({"message":"first?","requestedSchema":{"type":"object","properties":{}}})");
    json::object first = co_await context.io.ask("first", "elicitation/create", std::move(first_params));
    json::object second_params = parse(R"({"message":"second?","requestedSchema":{"type":"object","properties":{}}})");
    json::object second = co_await context.io.ask("second", "elicitation/create", std::move(second_params));
    tool_result result;
    result.structured["first"] = std::move(first);
    result.structured["second"] = std::move(second);
    co_return result;
}

inline void add(harness& server, std::string name, test_tool::function function,
                std::string_view schema = R"({"type":"object"})")
{
    server.core.tools().add(std::make_unique<test_tool>(std::move(name), function, schema));
}

inline json::object call_params(std::string_view name, json::object arguments = {})
{
    json::object params;
    params["name"] = name;
    params["arguments"] = std::move(arguments);
    return params;
}

}  // namespace cmcp::test
