// The fixture server of the public conformance suites. It has the settings of container-mcp, as variables: MCP_HOST and
// MCP_PORT say where it listens, CLUSTER_ETCD and its like with whom it works.
#include "cluster/cluster.hpp"
#include "config/load_settings.hpp"
#include "entrances/http_server.hpp"
#include "prebuilt/version.hpp"
#include "test/conformance/fixtures.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>

#include <csignal>
#include <iostream>
#include <memory>

namespace {

// Files in the folder where it is started say nothing.
cmcp::settings from_environment()
{
    cmcp::settings_sources from;
    from.variables = cmcp::current_environment();
    from.trust_working_folder = false;
    return cmcp::load_settings(from).values;
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

cmcp::reported_by_server nothing_owned(cmcp::quotas& limits)
{
    cmcp::holdings_source nothing;
    nothing.of = [](const std::string&) { return cmcp::json::object(); };
    nothing.owners = [] { return std::vector<std::string>(); };
    return {limits, std::move(nothing), [] { return cmcp::json::object(); }};
}

// The server, alone or one of a cluster (CLUSTER_ETCD), which it joins as the product does.
struct fixture_server {
    fixture_server(cmcp::asio::io_context& io, const cmcp::settings& config)
        : limits(config),
          with(config.cluster_etcd.empty()
                   ? nullptr
                   : std::make_unique<cmcp::cluster>(io.get_executor(), config, nothing_owned(limits))),
          core(io.get_executor(), identity(), core_limits(),
               std::make_shared<cmcp::job_register>(io.get_executor(), cmcp::handle_maker(config.sandbox_node))),
          http(io, config, cmcp::bound_address(config.host, config.port), core, no_layers, ways(config)),
          tasks(io.get_executor())
    {
        add_fixtures(core);
        if (!with) return;
        with->join(core);
        const auto entrance = cmcp::read_host_and_port(config.cluster_listen).value();
        http.admit_members_at(io, cmcp::bound_address(entrance.first, entrance.second, true));
        with->start(tasks);
    }

    static cmcp::json::value no_layers() { return cmcp::json::object(); }

    cmcp::core_limits core_limits()
    {
        cmcp::core_limits all;
        if (with) with->join(all);
        return all;
    }

    cmcp::http_parts ways(const cmcp::settings& config)
    {
        cmcp::http_parts to;
        if (with) to.node = config.sandbox_node;
        if (with) with->join(to);
        return to;
    }

    cmcp::quotas limits;
    std::unique_ptr<cmcp::cluster> with;
    cmcp::server_core core;
    cmcp::http_server http;
    cmcp::task_group tasks;
};

cmcp::awaitable<> stop_on_signal(fixture_server& server)
{
    auto executor = co_await cmcp::asio::this_coro::executor;
    cmcp::asio::signal_set signals(executor, SIGINT, SIGTERM);
    co_await signals.async_wait(cmcp::as_tuple);
    co_await server.http.stop();
    co_await server.core.tasks_ended(std::chrono::seconds(5));
    if (server.with) co_await server.with->lease.leave();
    server.tasks.cancel_all();
    co_await server.tasks.wait_idle(std::chrono::seconds(1));
}

int serve()
{
    const auto config = from_environment();
    std::signal(SIGPIPE, SIG_IGN);  // TLS may write to a member that has just gone
    cmcp::asio::io_context io(1);
    fixture_server server(io, config);
    server.http.start();
    std::cerr << "listening on " << server.http.address().url() << std::endl;
    cmcp::asio::co_spawn(io, stop_on_signal(server), [&io](std::exception_ptr failure) {
        io.stop();  // connections wait for another request
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
