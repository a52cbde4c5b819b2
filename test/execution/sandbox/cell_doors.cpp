#include "test/execution/sandbox/doors_support.hpp"

#include <signal.h>

// A network by policy: the server serves sockets of a lasting cell's own network, and nothing else is reached from it.
namespace cmcp::sandbox::test {
namespace {

const std::vector<std::uint16_t> ports{80, 443, 8443};
constexpr std::size_t resolver = 0, proxy = 1, https = 3;  // places of doors
const std::string greet_at = "echo begun; exec 3<>/dev/tcp/", and_greet = " && echo hello >&3 && cat <&3";

struct doors_stage : stage {
    explicit doors_stage(native_backend::options with = launcher_under_test()) : stage(std::move(with)) {}

    run_request in_cell(run_request wanted, std::string cell = "one")
    {
        wanted.cell = std::move(cell);
        wanted.principal = "someone";
        wanted.doors = ports;
        wanted.limits.wall = std::chrono::seconds(100) * slowness();
        return wanted;
    }
    run_request shell(std::string code, std::string cell = "one")
    {
        return in_cell(bash(std::move(code)), std::move(cell));
    }
    run_request script(std::string code)
    {
        run_request wanted = request(launcher_with_interpreter().launcher.zygote->argv);
        wanted.script = std::move(code);
        wanted.prepared = true;
        return in_cell(std::move(wanted));
    }
    void end(std::string cell = "one")
    {
        cmcp::test::run_coroutine(io, backend.end_cell({"someone", std::move(cell)}));
    }

    door_keeper doors{*this};
};

void check_greeting(doors_stage& s, run_request wanted, const std::string& address)
{
    beside run(s, std::move(wanted));
    run.await_output();
    const visitor guest = accept_at(s.doors.door(https));
    CHECK(guest.address == address);
    CHECK(guest.port == 443);
    CHECK(guest.hear() == "hello\n");
    guest.say("greeting");
    ::shutdown(guest.socket.get(), SHUT_RDWR);
    const run_result& result = run.await_end();
    INFO(result.error << run.output.err);
    CHECK(run.output.out == "begun\ngreeting");
    CHECK(s.doors.calls == std::vector{std::pair{std::string("one"), std::size_t{5}}});
}

bool has_v6(doors_stage& s)
{
    int family = 0;
    socklen_t length = sizeof family;
    ::getsockopt(s.doors.door(https), SOL_SOCKET, SO_DOMAIN, &family, &length);
    return family == AF_INET6;
}

constexpr const char* greeting_script = R"py(
import socket
print('begun', flush=True)
s = socket.create_connection(('198.18.0.7', 443))
s.sendall(b'hello\n')
print(s.recv(100).decode(), end='')
)py";

// Prints what works of all that must not.
constexpr const char* attacks = R"py(
import fcntl, os, socket
def attempt(name, work):
    try:
        work()
        print(name)
    except OSError:
        pass
def bind(family, kind, place):
    s = socket.socket(family, kind)
    for option in socket.SO_REUSEADDR, socket.SO_REUSEPORT:
        s.setsockopt(socket.SOL_SOCKET, option, 1)
    s.bind(place)
v4, v6, stream, datagram = socket.AF_INET, socket.AF_INET6, socket.SOCK_STREAM, socket.SOCK_DGRAM
for family, kind, protocol in (v4, 3, 1), (v4, 3, 255), (v6, 3, 58), (v4, 2, 1), (17, 3, 0), (17, 2, 0), (16, 3, 4), (16, 2, 12):
    attempt(f'socket {family} {kind} {protocol}', lambda: socket.socket(family, kind, protocol))
for port in 80, 443, 8443:
    for family, address in (v4, ''), (v4, '127.0.0.1'), (v4, '198.18.0.7'), (v6, '::'), (v6, '::1'), (v6, 'fd63:6d63:7000::7'):
        attempt(f'bind {address} {port}', lambda: bind(family, stream, (address, port)))
attempt('bind the proxy', lambda: bind(v4, stream, ('127.0.0.1', 3128)))
attempt('bind the proxy', lambda: bind(v4, stream, ('', 3128)))
attempt('bind the resolver', lambda: bind(v4, datagram, ('127.0.0.1', 53)))
attempt('bind the resolver', lambda: bind(v4, datagram, ('', 53)))
for family, address in (v4, '8.8.8.8'), (v4, '198.17.255.255'), (v4, '198.20.0.1'), (v4, '169.254.169.254'), (v6, 'fd63:6d63:7000:1::1'), (v6, '2001:db8::1'):
    for kind in stream, datagram:
        attempt(f'connect {address}', lambda: socket.socket(family, kind).connect((address, 443)))
for request in 0x890b, 0x890c, 0x8914, 0x8916, 0x8922:
    attempt(f'ioctl {request:x}', lambda: fcntl.ioctl(socket.socket(v4, datagram), request, b'lo' + bytes(118)))
attempt('first process', lambda: os.listdir('/proc/1/fd'))
attempt('forwarding', lambda: open('/proc/sys/net/ipv4/ip_forward', 'w'))
for fd in os.listdir('/proc/self/fd'):
    attempt(f'socket {fd}', lambda: socket.socket(fileno=int(fd)).getsockname())
print('tried')
)py";

std::string error_of_connection_to(const std::string& address, int port)
{
    const std::string family = address.find(':') == std::string::npos ? "AF_INET" : "AF_INET6";
    return "\ntry:\n    socket.socket(socket." + family + ").connect(('" + address + "', " + std::to_string(port) +
           "))\nexcept OSError as e: print(errno.errorcode[e.errno])\n";
}

}  // namespace

TEST_CASE("a program reaches a door of its cell at each address of the ranges", "[run][cell]")
{
    if (under_firejail()) return;
    doors_stage s;
    check_greeting(s, s.shell(greet_at + "198.18.0.7/443" + and_greet), "198.18.0.7");
    check_greeting(s, s.shell(greet_at + "198.19.255.254/443" + and_greet), "198.19.255.254");
    check_greeting(s, s.in_cell(s.python(greeting_script)), "198.18.0.7");
    if (has_v6(s)) check_greeting(s, s.shell(greet_at + "fd63:6d63:7000::7/443" + and_greet), "fd63:6d63:7000::7");
    CHECK(cmcp::test::run_coroutine(s.io, s.backend.cells()).size() == 1);
}

TEST_CASE("a cell whose first process is a loaded interpreter's clone has doors", "[run][cell]")
{
    if (!has_interpreter()) return;
    doors_stage s(launcher_with_interpreter());
    REQUIRE(cmcp::test::run_coroutine(s.io, s.backend.zygote_settles()));
    const bool shell_first = GENERATE(false, true);
    if (shell_first) check_greeting(s, s.shell(greet_at + "198.18.0.7/443" + and_greet), "198.18.0.7");
    check_greeting(s, s.script(greeting_script), "198.18.0.7");
    CHECK(s.run_now(s.script("print('once more')")).prepared);
    CHECK(s.output.out == "once more\n");
    CHECK(s.doors.calls.size() == 1);
}

TEST_CASE("names are looked up at the cell's own resolver", "[run][cell]")
{
    if (under_firejail()) return;
    doors_stage s;
    run_request wanted = s.shell(
        "getent ahostsv4 some.name | head -n 1; getent ahostsv6 some.name | head -n 1; "
        "exec 3<>/dev/tcp/other.name/443 && cat <&3");
    if (GENERATE(false, true)) wanted.programs = {false, {"bash", "getent", "head", "cat"}};
    beside run(s, std::move(wanted));
    s.doors.await_calls(1);
    name_server names(s.doors.door(resolver));
    const visitor guest = accept_at(s.doors.door(https));
    guest.say("greeting\n");
    ::shutdown(guest.socket.get(), SHUT_RDWR);
    run.await_end();
    INFO(run.output.err);
    CHECK(run.output.out.find("198.18.0.7") == 0);
    CHECK(run.output.out.find("\nfd63:6d63:7000::7 ") != std::string::npos);
    CHECK(run.output.out.ends_with("\ngreeting\n"));
    CHECK((guest.address == "198.18.0.7" || guest.address == "fd63:6d63:7000::7"));
    const auto questions = names.end();
    CHECK(std::ranges::count(questions, "some.name.") > 1);
    CHECK(std::ranges::count(questions, "other.name.") > 0);
}

TEST_CASE("a program that knows a proxy reaches the cell's", "[run][cell]")
{
    if (under_firejail()) return;
    doors_stage s;
    beside run(s, s.shell(greet_at + "127.0.0.1/3128" + and_greet));
    s.doors.await_calls(1);
    const visitor guest = accept_at(s.doors.door(proxy));
    CHECK(guest.hear() == "hello\n");
    CHECK(guest.address == "127.0.0.1");
    ::shutdown(guest.socket.get(), SHUT_RDWR);
    run.await_end();
}

TEST_CASE("doors end with their cell, and those of the next one of its name stay", "[run][cell]")
{
    if (under_firejail()) return;
    doors_stage s;
    s.run_now(s.shell("true"));
    s.end();
    using calls = std::vector<std::pair<std::string, std::size_t>>;
    CHECK(s.doors.calls == calls{{"one", 5}, {"one", 0}});
    s.run_now(s.shell("true"));
    bool ended = false;
    asio::co_spawn(s.io, s.backend.end_cell({"someone", "one"}), [&](std::exception_ptr) { ended = true; });
    beside next(s, s.shell(greet_at + "198.18.0.7/443" + and_greet));
    s.io.restart();
    while (!ended && s.io.run_one() != 0) {
    }
    s.doors.await_calls(4);
    while (s.doors.calls.back().second == 0) s.doors.await_calls(s.doors.calls.size() + 1);
    CHECK(accept_at(s.doors.door(https)).hear() == "hello\n");
    next.await_end();
}

TEST_CASE("doors end with the launcher, also while nothing runs", "[run][cell]")
{
    if (under_firejail()) return;
    doors_stage s;
    s.run_now(s.shell("true"));
    s.run_now(s.shell("true", "two"));
    ::kill(s.backend.launcher_pid(), SIGKILL);
    s.doors.await_calls(4);
    CHECK(std::ranges::count(s.doors.calls, std::pair{std::string("one"), std::size_t{0}}) == 1);
    CHECK(std::ranges::count(s.doors.calls, std::pair{std::string("two"), std::size_t{0}}) == 1);
    s.run_now(s.shell("true"));
    CHECK(s.doors.calls.back() == std::pair{std::string("one"), std::size_t{5}});
}

TEST_CASE("a run with other doors than its cell's is refused", "[run][cell]")
{
    if (under_firejail()) return;
    doors_stage s;
    beside first(s, s.shell("echo begun; sleep 1000"));
    first.await_output();
    for (const auto& others : {std::vector<std::uint16_t>{}, {80}, {80, 443, 8444}}) {
        run_request wanted = s.shell("true");
        wanted.doors = others;
        CHECK(s.run_now(wanted).error == "The sandbox's processes were started with another network; end them first.");
    }
    s.end();
    first.await_end();
}

TEST_CASE("doors are a lasting cell's alone, of 32 ports at most that are each another", "[run][cell][firejail]")
{
    doors_stage s;
    const auto error_of = [&](std::vector<std::uint16_t> wanted, std::string cell) {
        run_request request = s.shell("true", std::move(cell));
        request.doors = std::move(wanted);
        return s.run_now(std::move(request)).error;
    };
    std::vector<std::uint16_t> most;
    for (std::uint16_t port = 1; port <= most_doors; ++port) most.push_back(port);
    if (under_firejail()) {
        CHECK(error_of(ports, "one").find("SANDBOX_BACKEND=native") != std::string::npos);
        return;
    }
    CHECK(error_of(ports, "").find("needs a lasting cell") != std::string::npos);
    for (const auto& wrong : {std::vector<std::uint16_t>{0}, {80, 0}, {80, 80}, {80, 3128}})
        CHECK(error_of(wrong, "one").find("32 ports at most") != std::string::npos);
    CHECK(s.doors.calls.empty());
    CHECK(error_of(most, "one").empty());
    CHECK(s.doors.calls.back().second == 2 + most_doors);
    most.push_back(100);
    CHECK(error_of(most, "two").find("32 ports at most") != std::string::npos);
}

TEST_CASE("a cell reaches only its own doors, and without them none", "[run][cell]")
{
    if (under_firejail()) return;
    doors_stage s;
    beside one(s, s.shell("echo begun; sleep 1000"));
    one.await_output();
    beside two(s, s.shell(greet_at + "198.18.0.7/443; echo done", "two"));
    s.doors.await_calls(2);
    CHECK(accept_at(s.doors.door(https, "two")).address == "198.18.0.7");
    two.await_end();
    CHECK(two.output.out == "begun\ndone\n");
    for (const std::string cell : {"three", ""}) {
        run_request without = s.in_cell(
            s.python("import errno, socket" + error_of_connection_to("198.18.0.7", 443) +
                     error_of_connection_to("fd63:6d63:7000::7", 443) + error_of_connection_to("127.0.0.1", 3128)),
            cell);
        without.doors.clear();
        s.run_now(std::move(without));
        CHECK(s.output.out == "ENETUNREACH\nENETUNREACH\nECONNREFUSED\n");
    }
    pollfd untouched{s.doors.door(https), POLLIN, 0};
    CHECK(::poll(&untouched, 1, 0) == 0);
    CHECK(s.doors.calls.size() == 2);
    for (const char* cell : {"one", "two", "three"}) s.end(cell);
    one.await_end();
}

TEST_CASE("a program of a cell with doors takes no door's place, and changes nothing of its network", "[run][cell]")
{
    if (under_firejail()) return;
    doors_stage s;
    run_request wanted = s.in_cell(s.python(attacks));
    s.run_now(wanted);
    CHECK(s.output.out == "tried\n");
    CHECK(s.output.err.empty());
    s.run_now(wanted);
    CHECK(s.output.out == "tried\n");
}

TEST_CASE("without a handler doors are nobody's, and programs run", "[run][cell]")
{
    if (under_firejail()) return;
    doors_stage s;
    s.backend.on_doors({});
    const std::string until_refused = "while (exec 3<>/dev/tcp/198.18.0.7/443) 2>/dev/null; do :; done; echo refused";
    CHECK(s.run_now(s.shell(until_refused)).error.empty());
    CHECK(s.output.out == "refused\n");
    CHECK(s.doors.calls.empty());
}

TEST_CASE("a backend that keeps cells can have doors once it was probed", "[run][cell]")
{
    stage s;
    CHECK_FALSE(s.backend.can_have_doors());
    cmcp::test::run_coroutine(s.io, s.backend.probe());
    CHECK(s.backend.can_have_doors() == s.backend.keeps_cells());
}

}  // namespace cmcp::sandbox::test
