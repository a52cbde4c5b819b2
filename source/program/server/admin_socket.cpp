#include "server/admin_socket.hpp"

#include "config/settings.hpp"
#include "jsonrpc/read_object.hpp"
#include "posix/bytes.hpp"
#include "posix/unique_fd.hpp"
#include "text/number.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace cmcp::command {

namespace {

std::string why_unreachable(const settings& config, int error)
{
    const std::string root = "SANDBOX_ROOT=" + config.sandbox_root.string();
    if (error == EACCES || error == EPERM)
        return "the server of " + root + " belongs to another user: run this as that user, or as root";
    if (error == ENAMETOOLONG) return root + " is too long a path for a socket: set it to a shorter one";
    if (error == ENOENT || error == ECONNREFUSED)
        return "no server runs for " + root +
               ": start it with `container-mcp serve`, or name the folder of the one that runs with --sandbox-root";
    return "the server of " + root + " does not answer: " + std::strerror(error);
}

std::string read_all(const settings& config, int from)
{
    std::string text;
    std::array<char, 16384> piece{};
    for (;;) {
        const auto size = ::read(from, piece.data(), piece.size());
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) throw std::runtime_error(why_unreachable(config, errno));
        if (size == 0) return text;
        text.append(piece.data(), static_cast<std::size_t>(size));
    }
}

}  // namespace

std::string socket_path(const settings& config, std::string_view name)
{
    return (std::filesystem::absolute(config.sandbox_root).lexically_normal() / name).string();
}

std::string admin_socket_path(const settings& config) { return socket_path(config, "admin.sock"); }

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

// In HTTP/1.0 an answer ends with its connection.
admin_answer ask_administration(const settings& config, const std::string& method, const std::string& path,
                                const admin_request& more)
{
    const auto socket = connect_to(admin_socket_path(config));
    if (!socket) throw std::runtime_error(why_unreachable(config, errno));
    const timeval longest_silence{static_cast<time_t>(more.patience.count()), 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &longest_silence, sizeof longest_silence);
    std::string about;
    if (!more.body.empty())
        about = "Content-Type: application/json\r\nContent-Length: " + std::to_string(more.body.size()) + "\r\n";
    const auto head = method + " " + path + " HTTP/1.0\r\nHost: localhost\r\n" + about + "\r\n";
    if (!write_all(socket.get(), head + more.body)) throw std::runtime_error(why_unreachable(config, errno));
    const auto text = read_all(config, socket.get());
    const auto end_of_head = text.find("\r\n\r\n");
    const auto status =
        read_number<int>(std::string_view(text).substr(0, 12).substr(std::min<std::size_t>(9, text.size())));
    if (end_of_head == std::string::npos || !status)
        throw std::runtime_error("the server of SANDBOX_ROOT=" + config.sandbox_root.string() +
                                 " ended before its answer was whole");
    return {*status, jsonrpc::read_object(text.substr(end_of_head + 4))};
}

bool server_runs(const settings& config)
{
    if (connect_to(admin_socket_path(config))) return true;
    if (errno == ENOENT || errno == ECONNREFUSED || errno == ENAMETOOLONG || errno == ENOTDIR) return false;
    throw std::runtime_error(why_unreachable(config, errno));
}

}  // namespace cmcp::command
