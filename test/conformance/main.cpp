// The fixture server of the public conformance suites. MCP_HOST and MCP_PORT say where it listens.
#include "test/conformance/fixtures.hpp"
#include "transport/http_server.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>

#include <cstdlib>
#include <iostream>

namespace {

cmcp::settings from_environment()
{
    cmcp::settings config;
    if (const char* host = std::getenv("MCP_HOST")) config.host = host;
    if (const char* port = std::getenv("MCP_PORT")) config.port = static_cast<std::uint16_t>(std::stoul(port));
    return config;
}

cmcp::server_identity identity()
{
    cmcp::server_identity named;
    named.name = "container-mcp-conformance";
    named.title = "Container-MCP conformance fixtures";
    named.version = CMCP_VERSION;
    return named;
}

void add_fixtures(cmcp::server_core& core)
{
    using namespace cmcp::fixture;
    add_content_tools(core);
    add_stream_tools(core);
    add_question_tools(core);
    add_input_required_tools(core);
    add_schema_tools(core);
    add_task_tools(core);
    add_change_tools(core);
    add_prompts(core);
    add_resources(core);
}

cmcp::awaitable<> stop_on_signal(cmcp::http_server& server, cmcp::server_core& core)
{
    auto executor = co_await cmcp::asio::this_coro::executor;
    cmcp::asio::signal_set signals(executor, SIGINT, SIGTERM);
    co_await signals.async_wait(cmcp::as_tuple);
    co_await server.stop();
    co_await core.tasks_ended(std::chrono::seconds(5));
}

int serve()
{
    const auto config = from_environment();
    cmcp::asio::io_context io(1);
    cmcp::server_core core(io.get_executor(), identity(), {}, std::make_shared<cmcp::job_register>(io.get_executor()));
    add_fixtures(core);
    auto no_layers = [] { return cmcp::json::value(cmcp::json::object()); };
    cmcp::http_server server(io, config, cmcp::bound_address(config.host, config.port), core, no_layers);
    server.start();
    std::cerr << "listening on " << server.address().url() << std::endl;
    cmcp::asio::co_spawn(io, stop_on_signal(server, core), [](std::exception_ptr failure) {
        if (failure) std::rethrow_exception(failure);
    });
    io.run();
    return 0;
}

}  // namespace

int main()
{
    try {
        return serve();
    } catch (const std::exception& failure) {
        std::cerr << failure.what() << '\n';
        return 1;
    }
}
