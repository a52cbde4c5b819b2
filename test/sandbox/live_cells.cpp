#include "test/sandbox/beside.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>

// Programs that share a lasting cell.
namespace cmcp::sandbox::test {
namespace {

/// A stage whose runs share the cell "one" of the principal "someone".
struct shared_stage : stage {
    using stage::stage;

    run_request in_cell(std::string code, std::string cell = "one", std::string principal = "someone")
    {
        run_request request = bash(std::move(code));
        request.cell = std::move(cell);
        request.principal = std::move(principal);
        return request;
    }
    run_result run_in(std::string code) { return run_now(in_cell(std::move(code))); }
    std::vector<cell_state> cells() { return cmcp::test::run_coroutine(io, backend.cells()); }

    /// Asks for the cells until `wanted` holds.
    template <class Condition>
    bool cells_become(Condition wanted)
    {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10) * slowness();
        while (std::chrono::steady_clock::now() < until)
            if (wanted(cells())) return true;
        return false;
    }
    bool has_processes(std::uint64_t count)
    {
        return cells_become([&](const auto& all) { return all.size() == 1 && all[0].processes == count; });
    }
};

}  // namespace

TEST_CASE("runs of a cell share processes, /tmp and the network's loopback", "[run][cell]")
{
    if (under_firejail()) return;
    shared_stage s;
    const auto first = s.run_in("echo kept > /tmp/kept; echo $$; setsid sleep 1000 >/dev/null 2>&1 &");
    INFO(first.error);
    CHECK(first.why == cause::exited);
    CHECK(s.has_processes(1));
    const auto second = s.run_in("cat /tmp/kept; grep -c . /proc/[0-9]*/comm | wc -l; kill -0 -1 && echo sees it");
    INFO(second.error << s.output.err);
    CHECK(s.output.out.starts_with("kept\n"));
    CHECK(s.output.out.ends_with("sees it\n"));
    const auto all = s.cells();
    REQUIRE(all.size() == 1);
    CHECK(all[0].name == cell_name{"someone", "one"});
}

TEST_CASE("cells of other names and other principals are apart", "[run][cell]")
{
    if (under_firejail()) return;
    shared_stage s;
    s.run_in("echo kept > /tmp/kept");
    for (const auto& [cell, principal] : {std::pair{"two", "someone"}, {"one", "other"}, {"", "someone"}}) {
        s.run_now(s.in_cell("test -e /tmp/kept || echo apart", cell, principal));
        CHECK(s.output.out == "apart\n");
    }
    CHECK(s.cells().size() == 3);
}

TEST_CASE("what a program leaves in its session hangs up, nohup and setsid live on", "[run][cell]")
{
    if (under_firejail()) return;
    shared_stage s;
    CHECK(s.run_in("sleep 1001 & sleep 1002 & nohup sleep 1003 >/dev/null 2>&1 & setsid sleep 1004 >/dev/null 2>&1 &")
              .why == cause::exited);
    CHECK(s.has_processes(2));
    s.run_in("pgrep -a sleep");
    CHECK(s.output.out.find("1003") != std::string::npos);
    CHECK(s.output.out.find("1004") != std::string::npos);
    s.run_in("pkill sleep");
    CHECK(s.has_processes(0));
}

TEST_CASE("the end of a run in time ends its session alone", "[run][cell]")
{
    if (under_firejail()) return;
    shared_stage s;
    s.run_in("setsid sleep 1000 >/dev/null 2>&1 & until pgrep sleep; do :; done");
    run_request request = s.in_cell("trap '' HUP TERM; (trap '' HUP TERM; sleep 2000) & sleep 2000");
    request.limits.wall = std::chrono::milliseconds(300) * slowness();
    const auto result = s.run_now(std::move(request));
    CHECK(result.why == cause::timeout);
    CHECK(s.has_processes(1));
    s.run_in("pgrep -a sleep");
    CHECK(s.output.out.find("sleep 1000") != std::string::npos);
}

TEST_CASE("a cancelled fork bomb in a cell ends and leaves the cell to others", "[run][cell]")
{
    if (under_firejail()) return;
    shared_stage s;
    s.run_in("echo kept > /tmp/kept");
    run_request request = s.in_cell("bomb() { bomb | bomb & }; bomb; sleep 1000");
    request.limits.wall = std::chrono::milliseconds(500) * slowness();
    const auto bombed = s.run_now(std::move(request));
    INFO(bombed.error << bombed.detail);
    CHECK((bombed.why == cause::timeout || bombed.why == cause::process_limit));
    CHECK(s.run_in("echo serves").why == cause::exited);
    CHECK(s.output.out == "serves\n");
}

TEST_CASE("refused calls are told to the run that made them", "[run][cell]")
{
    if (under_firejail()) return;
    shared_stage s;
    beside other(s, s.in_cell("echo begun; sleep 1000"));
    other.await_output();
    const auto refused = s.run_in("unshare -U true");
    CHECK(refused.denied == std::vector<std::string>{"unshare"});
    CHECK(s.run_in("true").denied.empty());
}

TEST_CASE("the first process of a cell outlives what its inmates do to it", "[run][cell]")
{
    if (under_firejail()) return;
    shared_stage s;
    const auto attack = s.run_in(
        "kill -STOP 1; kill -KILL 1; kill -9 -1; kill -TERM 1; renice 19 1; "
        "for signal in $(seq 64); do kill -$signal 1; done; "
        "ls /proc/1 && echo seen; cat /proc/1/environ; gdb -p 1 -batch; prlimit --pid 1 --nproc=0:0; "
        "prlimit --pid 1 --cpu=0:0; prlimit --pid 1 --nofile=0:0; true");
    INFO(attack.error << s.output.err);
    CHECK(attack.why == cause::exited);
    CHECK(s.output.out.find("seen") == std::string::npos);
    CHECK(s.run_in("echo serves").why == cause::exited);
    CHECK(s.output.out == "serves\n");
}

TEST_CASE("a start that cannot fork says so", "[run][cell]")
{
    if (under_firejail()) return;
    shared_stage s;
    s.run_in("echo kept > /tmp/kept");
    run_request full_of_processes = s.in_cell("");
    full_of_processes.argv = {"/usr/bin/python3", "-c",
                              "import os, time\n"
                              "try:\n"
                              "    while os.fork(): pass\n"
                              "except OSError: print('full', flush=True)\n"
                              "time.sleep(1000)"};
    beside full(s, std::move(full_of_processes));
    full.await_output();
    CHECK(s.run_in("true").error.find("limit of processes") != std::string::npos);
    s.backend.end_cell({"someone", "one"});
    full.await_end();
}

TEST_CASE("a cell that breaks its memory limit ends with every run in it", "[run][cell]")
{
    if (under_firejail()) return;
    shared_stage s;
    run_request first = s.in_cell("echo begun; sleep 1000");
    first.limits.memory = 96ull << 20;
    beside other(s, std::move(first));
    other.await_output();
    run_request greedy = s.in_cell(
        "for i in 1 2 3 4; do python3 -c 'import time; x = bytearray(60 << 20); time.sleep(100)' & done; wait");
    greedy.limits.memory = 96ull << 20;
    CHECK(s.run_now(std::move(greedy)).why == cause::memory_limit);
    CHECK(other.await_end().why == cause::memory_limit);
    CHECK(s.cells().empty());
    CHECK(s.run_in("echo serves").why == cause::exited);
}

TEST_CASE("a cell ends when it is told to, with its runs", "[run][cell]")
{
    if (under_firejail()) return;
    shared_stage s;
    s.run_in("setsid sleep 1000 >/dev/null 2>&1 & true");
    beside other(s, s.in_cell("echo begun; sleep 1000"));
    other.await_output();
    s.backend.end_cell({"other", "one"});
    CHECK(s.cells().size() == 1);
    s.backend.end_cell({"someone", "one"});
    CHECK(other.await_end().why == cause::cancelled);
    CHECK(s.cells().empty());
    s.run_in("pgrep -c sleep");
    CHECK(s.output.out == "0\n");
}

TEST_CASE("a program that cannot be started in a cell says why", "[run][cell]")
{
    if (under_firejail()) return;
    shared_stage s;
    run_request request = s.in_cell("");
    request.argv = {"/usr/bin/no-such-program"};
    CHECK(s.run_now(request).error.find("does not exist inside") != std::string::npos);
    request = s.in_cell("pwd");
    request.working_dir = "/nowhere";
    CHECK(s.run_now(request).error.find("working folder") != std::string::npos);
    request = s.in_cell("cat; echo $VALUE; pwd");
    request.input = "input ";
    request.environment = {{"VALUE", "value"}};
    request.working_dir = "/tmp";
    s.run_now(request);
    CHECK(s.output.out == "input value\n/tmp\n");
}

TEST_CASE("a cell is in one workspace", "[run][cell]")
{
    if (under_firejail()) return;
    shared_stage s;
    temporary_workspace another;
    s.run_in("echo mine > file");
    run_request request = s.in_cell("cat file");
    request.workspace = another.path;
    CHECK(s.run_now(std::move(request)).error.find("another workspace") != std::string::npos);
    s.run_in("cat file");
    CHECK(s.output.out == "mine\n");
}

TEST_CASE("a run that floods its output does not keep a cell from others", "[run][cell]")
{
    if (under_firejail()) return;
    shared_stage s;
    run_request flood = s.in_cell("yes & yes >&2 & for i in {1..1000000}; do kill -CHLD 1; kill -39 1; done");
    flood.limits.output = 1ull << 40;
    beside other(s, std::move(flood));
    other.await_output();
    CHECK(s.run_in("echo serves").why == cause::exited);
    CHECK(s.output.out == "serves\n");
    s.backend.end_cell({"someone", "one"});
    CHECK(other.await_end().why == cause::cancelled);
}

TEST_CASE("a cell ends with its launcher", "[run][cell]")
{
    if (under_firejail()) return;
    shared_stage s;
    s.run_in("echo kept > /tmp/kept; setsid sleep 1000 >/dev/null 2>&1 & until pgrep sleep; do :; done");
    const unique_fd launcher(static_cast<int>(::syscall(SYS_pidfd_open, s.backend.launcher_pid(), 0)));
    ::kill(s.backend.launcher_pid(), SIGKILL);
    pollfd end{launcher.get(), POLLIN, 0};
    REQUIRE(::poll(&end, 1, 10'000) == 1);
    s.run_in("cat /tmp/kept; pgrep -c sleep");
    CHECK(s.output.out == "0\n");
}

TEST_CASE("Firejail has no lasting cells and says so", "[run][cell]")
{
    if (!under_firejail()) return;
    shared_stage s;
    CHECK(s.run_in("true").error.find("Firejail's runs share no processes") != std::string::npos);
}

}  // namespace cmcp::sandbox::test
