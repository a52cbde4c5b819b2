#include "cell/cell_sockets.hpp"
#include "limits/socket_memory.hpp"
#include "test/execution/sandbox/beside.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <fstream>
#include <vector>

// Sockets of a lasting cell's network, which the server connects to what listens in the cell.
namespace cmcp::sandbox::test {
namespace {

struct network_stage : stage {
    /// A run of the cell "one" that goes on.
    run_request in_cell(const std::string& code, std::string cell = "one")
    {
        run_request request = python(code);
        request.cell = std::move(cell);
        request.principal = "someone";
        request.limits.wall = std::chrono::seconds(100) * slowness();
        return request;
    }
    opened_socket open(cell_socket kind, std::string cell = "one", std::string principal = "someone")
    {
        cell_name name{std::move(principal), std::move(cell)};
        return cmcp::test::run_coroutine(io, backend.open_socket(std::move(name), kind));
    }
    void end(std::string cell) { cmcp::test::run_coroutine(io, backend.end_cell({"someone", std::move(cell)})); }
    std::vector<std::uint16_t> ports()
    {
        const opened_socket statistics = open(cell_socket::statistics);
        return listening_ports(statistics.socket.get());
    }
};

std::string listen_on(int port, std::string_view family = "AF_INET", std::string_view then = "")
{
    const std::string address = family == "AF_INET" ? "127.0.0.1" : "::1";
    return "import socket, time\ns = socket.socket(socket." + std::string(family) + ")\ns.bind(('" + address + "', " +
           std::to_string(port) + "))\ns.listen()\nprint('listens', flush=True)\n" + std::string(then) +
           "\ntime.sleep(1000)\n";
}

constexpr const char* greet = "c, _ = s.accept()\nc.sendall(b'greeting')\nc.close()\n";

int error_of_connection(int socket)
{
    pollfd ready{socket, POLLOUT, 0};
    ::poll(&ready, 1, 10'000);
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length);
    return error;
}

int connect_to(int socket, in_addr_t address, std::uint16_t port)
{
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(address);
    if (::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) return 0;
    return errno == EINPROGRESS ? error_of_connection(socket) : errno;
}

int connect_to_v6(int socket, std::uint16_t port)
{
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(port);
    to.sin6_addr = in6addr_loopback;
    if (::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) return 0;
    return errno == EINPROGRESS ? error_of_connection(socket) : errno;
}

std::string first_bytes(int socket)
{
    pollfd ready{socket, POLLIN, 0};
    ::poll(&ready, 1, 10'000);
    char bytes[64];
    const ssize_t count = ::recv(socket, bytes, sizeof bytes, 0);
    return {bytes, static_cast<std::size_t>(std::max<ssize_t>(0, count))};
}

}  // namespace

TEST_CASE("a socket of a cell reaches what listens in the cell", "[run][cell]")
{
    if (under_firejail()) return;
    network_stage s;
    beside server(s, s.in_cell(listen_on(8000, "AF_INET", greet)));
    server.await_output();
    const opened_socket door = s.open(cell_socket::tcp4);
    INFO(door.error);
    REQUIRE(door.socket);
    CHECK(connect_to(door.socket.get(), INADDR_LOOPBACK, 8000) == 0);
    CHECK(first_bytes(door.socket.get()) == "greeting");
    s.end("one");
    server.await_end();
}

TEST_CASE("a socket of a cell reaches the cell's IPv6 loopback", "[run][cell]")
{
    if (under_firejail()) return;
    network_stage s;
    beside server(s, s.in_cell(listen_on(8000, "AF_INET6", greet)));
    server.await_output();
    const opened_socket door = s.open(cell_socket::tcp6);
    REQUIRE(door.socket);
    CHECK(connect_to_v6(door.socket.get(), 8000) == 0);
    CHECK(first_bytes(door.socket.get()) == "greeting");
    s.end("one");
    server.await_end();
}

TEST_CASE("a socket of a cell reaches nothing else: no other cell, not this machine, no other address", "[run][cell]")
{
    if (under_firejail()) return;
    network_stage s;
    const unique_fd own(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof here;
    REQUIRE(::bind(own.get(), reinterpret_cast<sockaddr*>(&here), length) == 0);
    REQUIRE(::listen(own.get(), 1) == 0);
    REQUIRE(::getsockname(own.get(), reinterpret_cast<sockaddr*>(&here), &length) == 0);
    beside one(s, s.in_cell(listen_on(8000)));
    one.await_output();
    beside two(s, s.in_cell(listen_on(8001), "two"));
    two.await_output();
    CHECK(connect_to(s.open(cell_socket::tcp4).socket.get(), INADDR_LOOPBACK, ntohs(here.sin_port)) == ECONNREFUSED);
    CHECK(connect_to(s.open(cell_socket::tcp4).socket.get(), INADDR_LOOPBACK, 8001) == ECONNREFUSED);
    CHECK(connect_to(s.open(cell_socket::tcp4).socket.get(), 0x08080808, 53) == ENETUNREACH);
    CHECK(connect_to(s.open(cell_socket::tcp4).socket.get(), 0xA9FEA9FE, 80) == ENETUNREACH);
    for (const char* cell : {"one", "two"}) s.end(cell);
    one.await_end();
    two.await_end();
}

TEST_CASE("sockets of cells that are not there are refused with a sentence", "[run][cell]")
{
    if (under_firejail()) return;
    network_stage s;
    beside server(s, s.in_cell(listen_on(8000)));
    server.await_output();
    CHECK(s.open(cell_socket::tcp4, "two").error == "Nothing runs in the sandbox.");
    CHECK(s.open(cell_socket::tcp4, "one", "other").error == "Nothing runs in the sandbox.");
    s.end("one");
    server.await_end();
    const opened_socket late = s.open(cell_socket::tcp4);
    CHECK_FALSE(late.socket);
    CHECK_FALSE(late.error.empty());
}

TEST_CASE("the ports on which programs of a cell listen are known", "[run][cell]")
{
    if (under_firejail()) return;
    network_stage s;
    beside server(s, s.in_cell(listen_on(8000)));
    server.await_output();
    CHECK(s.ports() == std::vector<std::uint16_t>{8000});
    beside other(s, s.in_cell(listen_on(3000, "AF_INET6")));
    other.await_output();
    beside elsewhere(s, s.in_cell(listen_on(4000), "two"));
    elsewhere.await_output();
    CHECK(s.ports() == std::vector<std::uint16_t>{3000, 8000});
    for (const char* cell : {"one", "two"}) s.end(cell);
    for (beside* each : {&server, &other, &elsewhere}) each->await_end();
}

TEST_CASE("very many listeners make the list of ports no longer than 1000", "[run][cell]")
{
    if (under_firejail()) return;
    network_stage s;
    run_request many = s.in_cell(
        "import socket, time\nall = []\n"
        "for port in range(2000, 5000):\n"
        "    s = socket.socket()\n    s.bind(('127.0.0.1', port))\n    s.listen()\n    all.append(s)\n"
        "print('listens', flush=True)\ntime.sleep(1000)\n");
    many.limits.open_files = 4096;
    beside server(s, std::move(many));
    server.await_output();
    CHECK(s.ports().size() == 1000);
    s.end("one");
    server.await_end();
}

TEST_CASE("only a socket of the right kind, and of another network, passes for a cell's", "[cell]")
{
    const unique_fd tcp(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const unique_fd udp(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const unique_fd local(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const unique_fd statistics = open_socket_statistics();
    for (const unique_fd* each : {&udp, &local, &statistics})
        CHECK(socket_obstacle(each->get(), cell_socket::tcp4).find("kind") != std::string::npos);
    CHECK(socket_obstacle(tcp.get(), cell_socket::tcp6).find("kind") != std::string::npos);
    CHECK(socket_obstacle(0, cell_socket::tcp4).find("kind") != std::string::npos);
    CHECK(socket_obstacle(tcp.get(), cell_socket::tcp4).find("own network") != std::string::npos);
    CHECK(socket_obstacle(statistics.get(), cell_socket::statistics).find("own network") != std::string::npos);
}

TEST_CASE("only as many listeners as there are ports, and of another network, pass for a cell's doors", "[cell]")
{
    std::vector<unique_fd> doors;
    doors.emplace_back(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    for (int i = 0; i != 2; ++i) doors.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto problem = [&](std::size_t ports, bool tools) { return doors_obstacle(doors, ports, tools); };
    CHECK(problem(0, false).find("as many") != std::string::npos);
    CHECK(problem(2, false).find("as many") != std::string::npos);
    CHECK(problem(1, true).find("as many") != std::string::npos);
    CHECK(doors_obstacle({}, 1, false).find("as many") != std::string::npos);
    CHECK(doors_obstacle({}, 0, true).find("as many") != std::string::npos);
    CHECK(problem(1, false).find("kind") != std::string::npos);
    CHECK(doors_obstacle(std::span(doors).first(1), 0, true).find("kind") != std::string::npos);
    for (int i = 1; i != 3; ++i) REQUIRE(::listen(doors[static_cast<std::size_t>(i)].get(), 1) == 0);
    CHECK(problem(1, false).find("own network") != std::string::npos);
    CHECK(doors_obstacle(std::span(doors).subspan(1, 1), 0, true).find("own network") != std::string::npos);
    std::swap(doors[0], doors[1]);
    CHECK(problem(1, false).find("kind") != std::string::npos);
}

namespace {

// Such a process has a number in a PID namespace of its own, too.
bool is_first_process(pid_t process)
{
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("NSpid:")) return line.ends_with("\t1");
    return false;
}

}  // namespace

TEST_CASE("a first process that does not answer is told in time, and hurts its own cell only", "[run][cell]")
{
    if (under_firejail()) return;
    network_stage s;
    beside frozen(s, s.in_cell(listen_on(8000)));
    frozen.await_output();
    const std::string launcher = std::to_string(s.backend.launcher_pid());
    std::ifstream children("/proc/" + launcher + "/task/" + launcher + "/children");
    std::vector<pid_t> stopped;
    for (pid_t each = 0; children >> each;) {
        if (!is_first_process(each)) continue;  // but a measurer
        ::kill(each, SIGSTOP);
        stopped.push_back(each);
    }
    REQUIRE_FALSE(stopped.empty());
    beside other(s, s.in_cell(listen_on(8000), "two"));
    other.await_output();
    CHECK(s.open(cell_socket::tcp4).error == "The sandbox's processes do not answer.");
    CHECK(s.open(cell_socket::tcp4, "two").socket);
    for (const pid_t each : stopped) ::kill(each, SIGCONT);
    CHECK(s.open(cell_socket::tcp4).socket);
    for (const char* cell : {"one", "two"}) s.end(cell);
    frozen.await_end();
    other.await_end();
}

TEST_CASE("more sockets than a first process may owe are refused, and the cell goes on", "[run][cell]")
{
    if (under_firejail()) return;
    network_stage s;
    beside server(s, s.in_cell(listen_on(8000)));
    server.await_output();
    std::size_t opened = 0, refused = 0;
    for (int i = 0; i != 300; ++i)
        asio::co_spawn(s.io, s.backend.open_socket({"someone", "one"}, cell_socket::tcp4),
                       [&](std::exception_ptr failure, const opened_socket& one) {
                           CHECK_FALSE(failure);
                           ++(one.socket ? opened : refused);
                       });
    s.io.restart();
    while (opened + refused != 300 && s.io.run_one() != 0) {
    }
    CHECK(opened >= 64);
    CHECK(opened + refused == 300);
    CHECK(s.open(cell_socket::tcp4).socket);
    s.end("one");
    server.await_end();
}

}  // namespace cmcp::sandbox::test
