#include "http/bound_address.hpp"

#include "text/ascii.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace cmcp {

namespace ip = boost::asio::ip;

namespace {

constexpr int most_waiting = 4096;
constexpr std::string_view unix_scheme = "unix:";

// getaddrinfo directly: Asio's resolver would start a hidden thread.
std::vector<ip::address> addresses_of(const std::string& host)
{
    boost::system::error_code error;
    const auto literal = ip::make_address(host, error);
    if (!error) return {literal};
    // RFC 6761 section 6.3: both, whatever the machine's list of names says.
    if (equal_ignoring_case(host, "localhost")) return {ip::address_v4::loopback(), ip::address_v6::loopback()};
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (::getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0) return {};
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(list, &::freeaddrinfo);
    std::vector<ip::address> all;
    for (const auto* each = list; each != nullptr; each = each->ai_next) {
        ip::tcp::endpoint endpoint;
        if (each->ai_addrlen > endpoint.capacity()) continue;
        std::memcpy(endpoint.data(), each->ai_addr, each->ai_addrlen);
        if (std::find(all.begin(), all.end(), endpoint.address()) == all.end()) all.push_back(endpoint.address());
    }
    return all;
}

std::string advice(int error, std::uint16_t port)
{
    const std::string number = std::to_string(port);
    if (error == EADDRINUSE)
        return "Another program listens there, perhaps another container-mcp (`ss -ltnp sport = :" + number +
               "` names it): end it, or choose another port with --port or MCP_PORT.";
    if (error == EACCES) return "This user may not take it: choose a port above 1023 with --port or MCP_PORT.";
    return "Choose an address of this machine with --host or MCP_HOST, or another port with --port or MCP_PORT.";
}

std::string path_advice(int error)
{
    if (error == EADDRINUSE)
        return "Another program listens there, or the file is no socket: end the program, or choose another path.";
    return "Choose a path in a folder that is there and in which this user may write.";
}

void check(int result)
{
    if (result != 0) throw std::system_error(errno, std::generic_category());
}

unique_fd new_socket(int family)
{
    unique_fd fresh(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    check(fresh ? 0 : -1);
    return fresh;
}

unique_fd listen_at(const ip::tcp::endpoint& where)
{
    unique_fd fresh = new_socket(where.protocol().family());
    const int yes = 1;
    check(::setsockopt(fresh.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes));
    const int only_v6 = where.address().is_unspecified() ? 0 : 1;
    if (where.address().is_v6()) ::setsockopt(fresh.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof only_v6);
    check(::bind(fresh.get(), where.data(), static_cast<socklen_t>(where.size())));
    check(::listen(fresh.get(), most_waiting));
    return fresh;
}

sockaddr_un address_of(const std::string& path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) throw std::system_error(ENAMETOOLONG, std::generic_category());
    path.copy(address.sun_path, path.size());
    return address;
}

// The socket of a server that has ended: connections are refused there.
bool is_left_over(const std::string& path, const sockaddr_un& address)
{
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
    const unique_fd caller = new_socket(AF_UNIX);
    return ::connect(caller.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
           errno == ECONNREFUSED;
}

// unix(7): the file takes the mode of the socket, so no other user can connect in between.
unique_fd listen_at(const std::string& path)
{
    const sockaddr_un address = address_of(path);
    unique_fd fresh = new_socket(AF_UNIX);
    check(::fchmod(fresh.get(), S_IRUSR | S_IWUSR));
    const auto bind = [&] { return ::bind(fresh.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address); };
    if (bind() != 0) {
        const int error = errno;
        if (error != EADDRINUSE || !is_left_over(path, address))
            throw std::system_error(error, std::generic_category());
        check(::unlink(path.c_str()));
        check(bind());
    }
    check(::listen(fresh.get(), most_waiting));
    return fresh;
}

std::uint16_t port_of(const unique_fd& socket)
{
    ip::tcp::endpoint bound;
    auto length = static_cast<socklen_t>(bound.capacity());
    check(::getsockname(socket.get(), bound.data(), &length));
    return bound.port();
}

}  // namespace

std::string unix_path_of(const std::string& host)
{
    return host.starts_with(unix_scheme) ? host.substr(unix_scheme.size()) : std::string();
}

bound_address::bound_address(const std::string& host, std::uint16_t port, bool secure)
    : path_(unix_path_of(host)), secure_(secure && path_.empty())
{
    if (path_.empty())
        bind_addresses(host, port);
    else
        bind_path();
}

void bound_address::bind_path()
try {
    sockets_.push_back(listen_at(path_));
} catch (const std::system_error& failure) {
    throw std::runtime_error("Cannot listen on " + path_ + ": " + failure.code().message() + ". " +
                             path_advice(failure.code().value()));
}

void bound_address::bind_addresses(const std::string& host, std::uint16_t port)
{
    port_ = port;
    int error = 0;
    for (const auto& address : addresses_of(host)) try {
            sockets_.push_back(listen_at(ip::tcp::endpoint(address, port_)));
            if (sockets_.size() > 1) continue;
            ip_ = address;
            port_ = port_of(sockets_.front());  // the further addresses get the port that the first one was given
        } catch (const std::system_error& failure) {
            error = failure.code().value();
            if (error == EADDRINUSE) break;
        }
    if (!sockets_.empty()) return;
    const std::string reason = error == 0 ? "the name stands for no address" : std::generic_category().message(error);
    throw std::runtime_error("Cannot listen on " + host + " port " + std::to_string(port) + ": " + reason + ". " +
                             advice(error, port));
}

bool bound_address::only_this_machine(const std::string& host)
{
    if (!unix_path_of(host).empty()) return true;
    const auto all = addresses_of(host);
    return std::all_of(all.begin(), all.end(), [](const auto& each) { return each.is_loopback(); });
}

std::string bound_address::url() const
{
    if (!path_.empty()) return "http://localhost";
    const std::string name = ip_.is_unspecified() ? (ip_.is_v6() ? "::1" : "127.0.0.1") : ip_.to_string();
    return (secure_ ? "https://" : "http://") + (ip_.is_v6() ? "[" + name + "]" : name) + ":" + std::to_string(port_);
}

}  // namespace cmcp
