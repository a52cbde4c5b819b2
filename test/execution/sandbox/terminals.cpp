#include "test/execution/sandbox/beside.hpp"

#include "sandbox/terminal_master.hpp"
#include "wire/packet_socket.hpp"

#include <boost/asio/read.hpp>

#include <signal.h>

#include <fstream>
#include <memory>

// Runs that have a terminal of their cell's own.
namespace cmcp::sandbox::test {
namespace {

using namespace std::chrono_literals;

/// A run with a terminal, whose programs are typed to and watched.
class terminal_run {
public:
    terminal_run(stage& s, run_request wanted, terminal_size size = {80, 24}) : io_(s.io), link_(s.io)
    {
        auto [ours, theirs] = socket_pair(SOCK_STREAM);
        wanted.channel = std::make_shared<unique_fd>(std::move(theirs));
        wanted.terminal = size;
        wanted.limits.wall = 60s * slowness();
        link_.assign(ours.release());
        run_ = std::make_unique<beside>(s, std::move(wanted));
        master_ = cmcp::test::run_coroutine(io_, terminal_master::receive(link_), 40s * slowness());
        if (master_) return;
        INFO(run_->await_end().error);
        REQUIRE(master_);
    }

    void type(std::string keys)
    {
        REQUIRE(cmcp::test::run_coroutine(io_, master_->write(std::move(keys)), 40s * slowness()));
    }

    /// Whether the text is shown, after what was shown before.
    bool shows(const std::string& text)
    {
        for (;;) {
            if (const auto at = seen_.find(text); at != std::string::npos) {
                seen_.erase(0, at + text.size());
                return true;
            }
            const auto more = cmcp::test::run_coroutine(io_, master_->read(4096), 40s * slowness());
            if (more.empty()) return false;
            seen_ += more;
        }
    }

    std::string all_shown()
    {
        shows("\x01 nothing shows this");
        return seen_;
    }

    terminal_master& master() { return *master_; }
    asio::posix::stream_descriptor& link() { return link_; }
    const run_result& await_end() { return run_->await_end(); }
    const std::string& out() const { return run_->output.out; }

private:
    asio::io_context& io_;
    asio::posix::stream_descriptor link_;
    std::unique_ptr<beside> run_;
    std::optional<terminal_master> master_;
    std::string seen_;
};

run_request in_shared_cell(stage& s, std::vector<std::string> argv, std::string cell = "one")
{
    run_request request = s.request(std::move(argv));
    request.cell = std::move(cell);
    request.principal = "someone";
    request.environment = {{"TERM", "xterm"}, {"PS1", "ready> "}};
    return request;
}

run_request shell_in_cell(stage& s) { return in_shared_cell(s, {"/usr/bin/bash", "--norc", "--noprofile", "-i"}); }

run_request command_in_cell(stage& s, std::string command, std::string cell = "one")
{
    return in_shared_cell(s, {"/usr/bin/bash", "-c", std::move(command)}, std::move(cell));
}

}  // namespace

TEST_CASE("a run with a terminal has it as input and outputs, in the size that was asked for", "[run][cell][terminal]")
{
    if (under_firejail()) return;
    stage s;
    terminal_run run(s,
                     command_in_cell(s,
                                     "tty; stty size; test -t 0 && test -t 1 && test -t 2 && echo all three; "
                                     "ps -o tty= -p $$; : > /dev/tty && echo controls"),
                     {100, 30});
    const std::string shown = run.all_shown();
    INFO(shown);
    CHECK(shown.starts_with("/dev/pts/0\r\n30 100\r\nall three\r\npts/0"));
    CHECK(shown.ends_with("controls\r\n"));
    CHECK(run.await_end().why == cause::exited);
}

TEST_CASE("the programs of a terminal are told of a new size", "[run][cell][terminal]")
{
    if (under_firejail()) return;
    stage s;
    terminal_run run(s,
                     command_in_cell(s, "trap 'stty size; exit 3' WINCH; echo begun; while :; do read -t 0.1; done"));
    REQUIRE(run.shows("begun"));
    run.master().resize({132, 43});
    CHECK(run.shows("43 132"));
    CHECK(run.await_end().exit_code == 3);
}

TEST_CASE("ctrl-c reaches the program in the foreground and leaves the shell", "[run][cell][terminal]")
{
    if (under_firejail()) return;
    stage s;
    terminal_run run(s, shell_in_cell(s));
    REQUIRE(run.shows("ready> "));
    run.type("sh -c 'echo be\"\"gun; exec sleep 1000'\n");
    REQUIRE(run.shows("begun"));
    run.type("\x03");
    run.type("echo st=$?; sh -c 'echo be\"\"gun; exec sleep 1000'\n");
    CHECK(run.shows("st=130"));
    REQUIRE(run.shows("begun"));
    CHECK(run.master().signal(SIGINT));
    CHECK_FALSE(run.master().signal(SIGKILL));
    run.type("jobs; exit 5\n");
    CHECK(run.await_end().exit_code == 5);
}

TEST_CASE("a shell with a terminal stops and resumes jobs", "[run][cell][terminal]")
{
    if (under_firejail()) return;
    stage s;
    terminal_run run(s, shell_in_cell(s));
    REQUIRE(run.shows("ready> "));
    run.type("sh -c 'echo be\"\"gun; read line; echo got $line'\n");
    REQUIRE(run.shows("begun"));
    run.type("\x1a");
    REQUIRE(run.shows("Stopped"));
    run.type("fg\n");
    run.type("something\n");
    CHECK(run.shows("got something"));
    run.type("exit 0\n");
    CHECK(run.await_end().exit_code == 0);
}

TEST_CASE("vim edits a file in a terminal", "[run][cell][terminal]")
{
    if (under_firejail()) return;
    if (!std::filesystem::exists("/usr/bin/vim")) {
        std::cout << "not tested: vim is not installed\n";
        return;
    }
    stage s;
    terminal_run run(s, in_shared_cell(s, {"/usr/bin/vim", "-u", "NONE", "-N", "note.txt"}));
    REQUIRE(run.shows("note.txt"));
    run.type("ifirst line\rsecond line\x1b:wq\r");
    run.all_shown();
    CHECK(run.await_end().exit_code == 0);
    std::ifstream file(s.workspace.path + "/note.txt");
    std::string text{std::istreambuf_iterator<char>(file), {}};
    CHECK(text == "first line\nsecond line\n");
}

TEST_CASE("python asks line by line in a terminal", "[run][cell][terminal]")
{
    if (under_firejail()) return;
    stage s;
    terminal_run run(s, in_shared_cell(s, {"/usr/bin/python3", "-i", "-q"}));
    REQUIRE(run.shows(">>> "));
    run.type("6 * 7\n");
    CHECK(run.shows("42\r\n"));
    run.type("exit(4)\n");
    CHECK(run.await_end().exit_code == 4);
}

TEST_CASE("a terminal that the server closes ends its shell and its jobs, nohup lives on", "[run][cell][terminal]")
{
    if (under_firejail()) return;
    stage s;
    terminal_run run(s, shell_in_cell(s));
    REQUIRE(run.shows("ready> "));
    run.type("nohup sleep 1003 >/dev/null 2>&1 & sleep 1001 & setsid sleep 1004 >/dev/null 2>&1 &\n");
    run.type("until [ $(pgrep -cx sleep) = 3 ]; do :; done; echo be\"\"gun\n");
    REQUIRE(run.shows("begun"));
    run.type("sh -c 'echo fore\"\"ground; exec sleep 1002'\n");
    REQUIRE(run.shows("foreground"));
    run.master().close();
    const auto& end = run.await_end();
    CHECK((end.signal == SIGHUP || end.exit_code == 129));
    s.run_now(command_in_cell(s, "while pgrep -f 'sleep 100[12]' >/dev/null; do :; done; pgrep -a sleep"));
    CHECK(s.output.out.find("1003") != std::string::npos);
    CHECK(s.output.out.find("1004") != std::string::npos);
}

TEST_CASE("a run with a terminal ends in time with its whole session", "[run][cell][terminal]")
{
    if (under_firejail()) return;
    stage s;
    auto request = command_in_cell(s, "trap '' HUP TERM INT; (trap '' HUP; sleep 2000) & echo begun; sleep 2000");
    terminal_run run(s, std::move(request));
    REQUIRE(run.shows("begun"));
    cmcp::test::run_coroutine(s.io, s.backend.end_cell({"someone", "one"}));
    CHECK(run.await_end().why == cause::cancelled);
}

TEST_CASE("no program types for another, nor changes the line discipline", "[run][cell][terminal]")
{
    if (under_firejail()) return;
    stage s;
    terminal_run run(s, in_shared_cell(s, {"/usr/bin/python3", "-c",
                                           "import fcntl, struct\n"
                                           "for request in (0x5412, 0x541c, 0x541d, 0x5423):\n"
                                           "    try: fcntl.ioctl(0, request, struct.pack('i', 0)); print('done')\n"
                                           "    except OSError as error: print('error', error.errno)\n"}));
    CHECK(run.all_shown() == "error 1\r\nerror 1\r\nerror 1\r\nerror 1\r\n");
}

TEST_CASE("a cell sees its own terminals alone", "[run][cell][terminal]")
{
    if (under_firejail()) return;
    stage s;
    terminal_run first(s, shell_in_cell(s));
    REQUIRE(first.shows("ready> "));
    terminal_run beside_it(s, command_in_cell(s, "tty; ls /dev/pts"));
    CHECK(beside_it.all_shown() == "/dev/pts/1\r\n0  1  ptmx\r\n");
    terminal_run elsewhere(s, command_in_cell(s, "tty; ls /dev/pts", "two"));
    CHECK(elsewhere.all_shown() == "/dev/pts/0\r\n0  ptmx\r\n");
    s.run_now(s.bash("ls /dev/pts | wc -l"));
    CHECK(s.output.out == "0\n");
}

TEST_CASE("programs of a cell open terminals too, up to a limit that is the cell's own", "[run][cell][terminal]")
{
    if (under_firejail()) return;
    stage s;
    terminal_run run(s, in_shared_cell(s, {"/usr/bin/python3", "-c",
                                           "import os\n"
                                           "opened = []\n"
                                           "try:\n"
                                           "    while len(opened) < 100: opened.append(os.openpty())\n"
                                           "except OSError as error: print(len(opened), error.errno, flush=True)\n"
                                           "input()"}));
    CHECK(run.shows("23 28\r\n"));
    const auto full = s.run_now([&] {
        auto request = command_in_cell(s, "true");
        request.terminal = {80, 24};
        request.channel = std::make_shared<unique_fd>(std::move(socket_pair(SOCK_STREAM).first));
        return request;
    }());
    CHECK(full.error.find("as many terminals") != std::string::npos);
    terminal_run elsewhere(s, command_in_cell(s, "tty", "two"));
    CHECK(elsewhere.shows("/dev/pts/0"));
}

TEST_CASE("a program waits while nobody reads its terminal", "[run][cell][terminal]")
{
    if (under_firejail()) return;
    stage s;
    terminal_run run(s, in_shared_cell(s, {"/usr/bin/python3", "-c",
                                           "import os\n"
                                           "os.set_blocking(1, False)\n"
                                           "written = 0\n"
                                           "try:\n"
                                           "    while True: written += os.write(1, b'y' * 1000)\n"
                                           "except BlockingIOError: pass\n"
                                           "open('written', 'w').write(str(written))\n"}));
    CHECK(run.await_end().exit_code == 0);
    std::ifstream file(s.workspace.path + "/written");
    std::size_t written = 0;
    file >> written;
    CHECK(written > 0);
    CHECK(written < (1u << 18));
    CHECK(run.all_shown().size() == written);
}

TEST_CASE("a terminal may control a run whose outputs are apart", "[run][cell][terminal]")
{
    if (under_firejail()) return;
    stage s;
    auto request =
        command_in_cell(s, "test -t 0 || test -t 1 || stty size < /dev/tty; echo more >&3; read -u3 line; echo $line");
    request.terminal_speaks = false;
    terminal_run run(s, std::move(request));
    std::string more(5, '\0');
    auto reading = asio::async_read(run.link(), asio::buffer(more), asio::use_awaitable);
    CHECK(cmcp::test::run_coroutine(s.io, std::move(reading)) == more.size());
    CHECK(more == "more\n");
    CHECK(::write(run.link().native_handle(), "said\n", 5) == 5);
    CHECK(run.await_end().exit_code == 0);
    CHECK(run.out() == "24 80\nsaid\n");
}

TEST_CASE("a terminal without a lasting cell is refused", "[run][cell][firejail][terminal]")
{
    stage s;
    run_request request = s.bash("echo runs");
    request.terminal = {80, 24};
    request.channel = std::make_shared<unique_fd>(std::move(socket_pair(SOCK_STREAM).first));
    CHECK(s.run_now(request).error.find("lasting cell") != std::string::npos);
    request.cell = "one";
    if (!under_firejail()) request.channel.reset();
    const std::string error = s.run_now(request).error;
    CHECK(error.find(under_firejail() ? "Firejail's runs share no processes" : "open a terminal") != std::string::npos);
    CHECK(s.output.out.empty());
}

}  // namespace cmcp::sandbox::test
