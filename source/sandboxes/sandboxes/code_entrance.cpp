#include "sandboxes/code_entrance.hpp"

#include "async/memory_budget.hpp"
#include "async/task_group.hpp"
#include "config/settings.hpp"
#include "http/connection.hpp"
#include "http/listener.hpp"
#include "identity/gatekeeper.hpp"
#include "sandboxes/tool_rights.hpp"

#include <chrono>
#include <utility>
#include <vector>

namespace cmcp {

namespace {

constexpr std::size_t most_connections_of_cell = 64;

settings settings_for_code(const settings& config)
{
    settings here = config;
    here.trusted_proxies.clear();
    here.tls_cert.clear();
    return here;
}

std::vector<unique_fd> only(unique_fd socket)
{
    std::vector<unique_fd> sockets;
    sockets.push_back(std::move(socket));
    return sockets;
}

request_guard::way_in by_ticket(tool_rights& rights, const std::string& sandbox)
{
    const auto login = [&rights, sandbox](const http_request& request) -> login_ptr {
        constexpr std::string_view scheme = "Bearer ";
        const auto brought = request.header("authorization").value_or("");
        return brought.starts_with(scheme) ? rights.login_of(brought.substr(scheme.size()), sandbox) : nullptr;
    };
    return {login, "code",
            "Programs call tools for the run that started them, which has ended, or was none that may: call them from "
            "a run that goes on."};
}

}  // namespace

struct code_entrance::shared {
    shared(asio::any_io_executor runs, code_sources from)
        : executor(std::move(runs)),
          config(settings_for_code(from.config)),
          rights(from.rights),
          pool(from.core.pool()),
          logins(executor, config, {}),
          deadlines(std::make_shared<deadline_wheel>(executor)),
          budget(std::make_shared<memory_budget>(config.memory_limit_bytes))
    {
        add_code_routes(routes, std::move(from));
    }

    asio::any_io_executor executor;
    const settings config;
    tool_rights& rights;
    std::weak_ptr<blocking_pool> pool;
    gatekeeper logins;
    router routes;
    std::shared_ptr<deadline_wheel> deadlines;
    std::shared_ptr<memory_budget> budget;
};

/// Lives as long as its connections do.
struct code_entrance::door : std::enable_shared_from_this<door> {
    door(std::shared_ptr<shared> of, const std::string& sandbox, unique_fd socket)
        : all(std::move(of)),
          guard(all->config, all->logins, by_ticket(all->rights, sandbox)),
          context(all->config, guard, all->routes, all->deadlines, all->budget),
          connections(all->executor),
          listens(all->executor, only(std::move(socket)))
    {
        context.pool = all->pool;
    }

    void start()
    {
        listens.start(connections,
                      [self = shared_from_this()](stream_socket client) { self->take(std::move(client)); });
    }

    void close()
    {
        listens.close();
        connections.cancel_all();
    }

    // Beyond its share, a sandbox is not answered.
    void take(stream_socket client)
    {
        if (connections.size() > most_connections_of_cell) return;
        std::shared_ptr<connection_context> held(shared_from_this(), &context);
        connections.spawn("calls of code", serve_connection(std::move(client), std::move(held)));
    }

    std::shared_ptr<shared> all;
    request_guard guard;
    connection_context context;
    task_group connections;
    listener listens;
};

code_entrance::code_entrance(asio::any_io_executor executor, code_sources from)
    : shared_(std::make_shared<shared>(std::move(executor), std::move(from)))
{
}

code_entrance::~code_entrance() = default;

void code_entrance::open(const std::string& sandbox, unique_fd socket)
{
    if (const auto earlier = doors_.find(sandbox); earlier != doors_.end()) {
        earlier->second->close();
        doors_.erase(earlier);
    }
    if (!socket) return;
    const auto opened = std::make_shared<door>(shared_, sandbox, std::move(socket));
    opened->start();
    doors_.emplace(sandbox, opened);
}

awaitable<> code_entrance::stop()
{
    constexpr std::chrono::milliseconds ending(1000);
    const auto all = std::exchange(doors_, {});
    for (const auto& [sandbox, each] : all) each->close();
    for (const auto& [sandbox, each] : all) co_await each->connections.wait_idle(ending);
}

}  // namespace cmcp
