#include "server/admin_socket.hpp"

#include "async/asio.hpp"
#include "remote/server_client.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <cerrno>
#include <exception>
#include <utility>

#include <sys/socket.h>
#include <sys/un.h>

namespace cmcp::command {

namespace {

awaitable<> ask_once(server_client& server, const std::string& method, const std::string& path,
                     const admin_request& more, server_client::answer& heard)
{
    heard = co_await server.ask(method, path, more.body, more.patience);
}

}  // namespace

unique_fd connect_to(const std::string& path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return {};
    }
    path.copy(address.sun_path, path.size());
    unique_fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto* to = reinterpret_cast<const sockaddr*>(&address);
    if (socket && ::connect(socket.get(), to, sizeof address) != 0) socket.reset();
    return socket;
}

admin_answer ask_administration(const server_place& of, const std::string& method, const std::string& path,
                                const admin_request& more)
{
    asio::io_context io(1);
    server_client server(io.get_executor(), of);
    server_client::answer heard;
    std::exception_ptr failure;
    asio::co_spawn(io, ask_once(server, method, path, more, heard), [&failure, &io](std::exception_ptr thrown) {
        failure = thrown;
        io.stop();  // the limit of the silence goes on
    });
    io.run();
    if (failure) std::rethrow_exception(failure);
    return {static_cast<int>(heard.status), std::move(heard.body)};
}

admin_answer ask_administration(const settings& config, const std::string& method, const std::string& path,
                                const admin_request& more)
{
    return ask_administration(own_server(config), method, path, more);
}

bool server_runs(const settings& config)
{
    if (connect_to(own_server(config).socket)) return true;
    if (errno == ENOENT || errno == ECONNREFUSED || errno == ENAMETOOLONG || errno == ENOTDIR) return false;
    throw std::runtime_error(own_server(config).why_unreachable(errno));
}

}  // namespace cmcp::command
