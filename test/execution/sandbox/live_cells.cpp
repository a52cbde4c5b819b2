#include "test/execution/sandbox/beside.hpp"

#include "async/task_group.hpp"
#include "sandbox/output_head.hpp"
#include "wire/python_start.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <deque>
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
    void end(cell_name cell) { cmcp::test::run_coroutine(io, backend.end_cell(std::move(cell))); }
    std::vector<cell_state> cells() { return cmcp::test::run_coroutine(io, backend.cells()); }

    /// Asks for the cells until `wanted` holds.
    template <class Condition>
    bool cells_become(Condition wanted)
    {
        return eventually([&] { return wanted(cells()); });
    }
    bool has_processes(std::uint64_t count)
    {
        return cells_become([&](const auto& all) { return all.size() == 1 && all[0].processes == count; });
    }
};

std::size_t listeners_of(int process)
{
    std::size_t count = 0;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd", ignored))
        count += std::filesystem::read_symlink(entry.path(), ignored) == "anon_inode:seccomp notify" ? 1 : 0;
    return count;
}

awaitable<> run_and_forget(native_backend& backend, run_request request)
{
    output_head output;
    co_await backend.run(std::move(request), output);
}

/// The same with an interpreter that is kept loaded.
struct python_stage : shared_stage {
    explicit python_stage(const native_backend::options& with = launcher_with_interpreter(), bool settles = true)
        : shared_stage(with)
    {
        if (settles) settle();
    }
    void settle() { loaded = cmcp::test::run_coroutine(io, backend.zygote_settles()); }

    run_request python_in_cell(std::string script)
    {
        run_request request = in_cell("");
        request.argv = backend_argv();
        request.script = std::move(script);
        request.prepared = true;
        return request;
    }
    static std::vector<std::string> backend_argv() { return launcher_with_interpreter().launcher.zygote->argv; }

    bool loaded = false;
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

TEST_CASE("cells of other names and other principals are apart", "[run][measured][cell]")
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

TEST_CASE("cells of one name and other shapes are apart in processes and programs, share the files and end together",
          "[run][measured][cell]")
{
    if (under_firejail()) return;
    shared_stage s;
    s.run_in("echo kept > /tmp/kept; echo all > here; setsid sleep 1005 >/dev/null 2>&1 &");
    const auto listed = [&](std::string code) {
        run_request request = s.in_cell(std::move(code));
        request.shape = "listed";
        request.programs = {false, {"cat", "sleep", "setsid"}};
        return request;
    };
    s.run_now(listed("cat here; cat /tmp/kept; id; setsid sleep 1006 >/dev/null 2>&1 & echo mine > /tmp/mine"));
    CHECK(s.output.out == "all\n");
    CHECK(s.output.err.find("id") != std::string::npos);
    s.run_now(listed("cat /tmp/mine"));
    CHECK(s.output.out == "mine\n");
    const auto both = [](const auto& all) {
        return all.size() == 2 && all[0].processes == 1 && all[1].processes == 1 && all[0].name == all[1].name;
    };
    CHECK(s.cells_become(both));
    s.end({"someone", "one"});
    CHECK(s.cells().empty());
    s.run_in("test -e /tmp/kept || echo new");
    CHECK(s.output.out == "new\n");
}

TEST_CASE("what a program leaves in its session hangs up, nohup and setsid live on", "[run][measured][cell]")
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

TEST_CASE("what outlives its run still connects, and its refused calls still fail as they did", "[run][cell]")
{
    if (under_firejail()) return;
    shared_stage s;
    const std::string code =
        "import ctypes, errno, socket\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "listener = socket.create_server((\"127.0.0.1\", 0), backlog=1)\n"
        "local = socket.socket(socket.AF_UNIX); local.bind(\"/tmp/late.sock\"); local.listen()\n"
        "for _ in open(\"/tmp/go\"): pass\n"
        "try:\n"
        "  for _ in range(1200):\n"  // more than are answered between two looks
        "    with socket.create_connection(listener.getsockname()): listener.accept()[0].close()\n"
        "  with socket.socket(socket.AF_UNIX) as own: own.connect(\"/tmp/late.sock\")\n"
        "  said = \"connected\"\n"
        "except OSError as failed: said = str(failed)\n"
        "said += f\" {libc.unshare(0x20000)} {errno.errorcode[ctypes.get_errno()]}\\n\"\n"
        "open(\"/tmp/done\", \"w\").write(said)";
    s.run_in("mkfifo /tmp/go /tmp/done; setsid python3 -c '" + code + "' >/tmp/log 2>&1 &");
    run_request request = s.in_cell("echo go > /tmp/go; cat /tmp/done /tmp/log");
    request.limits.wall = std::chrono::seconds(90) * slowness();
    s.run_now(std::move(request));
    CHECK(s.output.out == "connected -1 EPERM\n");
}

TEST_CASE("the launcher listens to calls of what outlives its run for as long as that lives", "[run][cell]")
{
    if (under_firejail()) return;
    shared_stage s;
    constexpr std::size_t left = 16, stand_by = 6;  // programs that stand by have listeners, too
    for (std::size_t i = 0; i != left; ++i)
        s.run_in("setsid sh -c 'until [ -e /tmp/go ]; do sleep 0.1; done' >/dev/null 2>&1 &");
    if (listeners_of(s.backend.launcher_pid()) == 0) {
        WARN("no listener is possible here: nothing was tried");
        return;
    }
    CHECK(listeners_of(s.backend.launcher_pid()) >= left);
    s.run_in("touch /tmp/go");
    CHECK(eventually([&] { return listeners_of(s.backend.launcher_pid()) <= stand_by; }));
}

TEST_CASE("the end of a run in time ends its session alone", "[run][measured][cell]")
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

TEST_CASE("a cancelled fork bomb in a cell ends and leaves the cell to others", "[run][measured][cell]")
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
        "kill -STOP 1; kill -KILL 1; kill -9 -1; kill -TERM 1; kill -STOP -1; renice 19 1; "
        "for signal in $(seq 64); do kill -$signal 1; done; "
        "ls /proc/1 && echo seen; cat /proc/1/environ; gdb -p 1 -batch; prlimit --pid 1 --nproc=0:0; "
        "prlimit --pid 1 --cpu=0:0; prlimit --pid 1 --nofile=0:0; true");
    INFO(attack.error << s.output.err);
    CHECK(attack.why == cause::exited);
    CHECK(s.output.out.find("seen") == std::string::npos);
    CHECK(s.run_in("echo serves").why == cause::exited);
    CHECK(s.output.out == "serves\n");
}

// The process that stands by may serve one start more; its place is taken then.
TEST_CASE("a start that cannot fork says so", "[run][measured][cell]")
{
    if (under_firejail()) return;
    shared_stage s;
    run_request full_of_processes = s.in_cell("");
    full_of_processes.argv = {"/usr/bin/python3", "-c",
                              "import os, time\n"
                              "told = False\n"
                              "while True:\n"
                              "    try:\n"
                              "        if os.fork() == 0: time.sleep(1000)\n"
                              "    except OSError:\n"
                              "        if not told: print('full', flush=True)\n"
                              "        told = True\n"};
    full_of_processes.limits.wall = std::chrono::seconds(60) * slowness();
    beside full(s, std::move(full_of_processes));
    full.await_output();
    std::string error;
    const auto is_refused = [&] { return !(error = s.run_in("true").error).empty(); };
    CHECK(eventually(is_refused));
    INFO(error);
    CHECK(error.find("limit of processes") != std::string::npos);
    s.end({"someone", "one"});
    CHECK(full.await_end().why == cause::cancelled);
}

TEST_CASE("a cell that breaks its memory limit ends with every run in it", "[run][measured][cell]")
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

TEST_CASE("starts and ends of runs wait for a first process that is busy, and none is lost", "[run][cell]")
{
    if (under_firejail()) return;
    shared_stage s;
    s.run_in("true");
    beside ended(s, s.in_cell("echo begun; sleep 1000"));
    ended.await_output();
    const auto firsts = children_of(s.backend.launcher_pid());
    for (const auto& [process, name] : firsts) ::kill(process, SIGSTOP);
    std::deque<beside> all;  // stay where they are
    for (int i = 0; i < 30; ++i)
        all.emplace_back(s, s.in_cell("echo " + std::to_string(i) + ": " + std::string(20'000, 'x')));
    s.io.restart();
    s.io.run_for(std::chrono::milliseconds(300));  // orders for more than the socket has room for come to the launcher
    for (const auto& [process, name] : firsts) ::kill(process, SIGCONT);
    for (std::size_t i = 0; i < all.size(); ++i) {
        CHECK(all[i].await_end().why == cause::exited);
        CHECK(all[i].output.out.starts_with(std::to_string(i) + ": "));
    }
    s.end({"someone", "one"});
    CHECK(ended.await_end().why == cause::cancelled);
}

TEST_CASE("a cell of a shape has memory for as many runs as it has, and one run alone only what it had at first",
          "[run][measured][cell]")
{
    if (under_firejail()) return;
    shared_stage s;
    const auto shaped = [&](std::string code) {
        run_request request = s.in_cell(std::move(code));
        request.shape = "listed";
        request.limits.process_memory = 96ull << 20;
        request.limits.memory = 192ull << 20;
        return request;
    };
    const std::string needs =
        "python3 -c 'import os, time\nx = bytearray(60 << 20); print(len(x), flush=True)\n"
        "while not os.path.exists(\"/tmp/go\"): time.sleep(0.01)'";
    std::deque<beside> all;  // stay where they are
    for (int i = 0; i < 5; ++i) all.emplace_back(s, shaped(needs));
    for (auto& each : all) each.await_output();
    s.run_now(shaped("touch /tmp/go"));
    for (auto& each : all) CHECK(each.await_end().why == cause::exited);
    s.end({"someone", "one"});
    auto greedy =
        shaped("for i in 1 2 3 4; do python3 -c 'import time; x = bytearray(60 << 20); time.sleep(100)' & done; wait");
    CHECK(s.run_now(std::move(greedy)).why == cause::memory_limit);
}

TEST_CASE("a cell ends when it is told to, with its runs", "[run][measured][cell]")
{
    if (under_firejail()) return;
    shared_stage s;
    s.run_in("setsid sleep 1000 >/dev/null 2>&1 & true");
    beside other(s, s.in_cell("echo begun; sleep 1000"));
    other.await_output();
    s.end({"other", "one"});
    CHECK(s.cells().size() == 1);
    s.end({"someone", "one"});
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
    CHECK(s.run_now(std::move(request)).error.find("another working folder") != std::string::npos);
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
    s.end({"someone", "one"});
    CHECK(other.await_end().why == cause::cancelled);
}

TEST_CASE("a cell ends with its launcher", "[run][measured][cell]")
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

TEST_CASE("clones of a loaded interpreter share a cell with shells", "[run][cell]")
{
    if (!has_interpreter()) return;
    python_stage s;
    REQUIRE(s.loaded);
    const auto first =
        s.run_now(s.python_in_cell("open('/tmp/kept', 'w').write('kept')\nprint(os.getppid())\n"
                                   "import subprocess\n"
                                   "subprocess.Popen(['sleep', '1000'], start_new_session=True)"));
    INFO(first.error << s.output.err);
    CHECK(first.why == cause::exited);
    CHECK(first.prepared);
    CHECK(s.output.out == "1\n");
    CHECK(s.has_processes(1));
    CHECK_FALSE(s.run_in("cat /tmp/kept; pgrep -a sleep; ulimit -d").prepared);
    CHECK(s.output.out.starts_with("kept"));
    CHECK(s.output.out.find("sleep 1000") != std::string::npos);
    CHECK(s.output.out.ends_with(std::to_string(s.in_cell("").limits.memory / 1024) + "\n"));
    CHECK(s.run_now(s.python_in_cell("import sys; sys.exit(7)")).exit_code == 7);
    CHECK(s.run_now(s.python_in_cell("os.abort()")).signal == SIGABRT);
}

TEST_CASE("after a shell another is held in the cell, and is confined and told what to do as any other", "[run][cell]")
{
    if (under_firejail()) return;
    shared_stage s;
    const auto at_home = [&](std::string code) {
        run_request request = s.in_cell(std::move(code));
        request.workspace_inside = "/inside";
        return request;
    };
    // A shell is made beside a run that goes on, and none where one run follows the other at once.
    const auto until_held = [&](const run_request& request) {
        for (;;) {
            s.run_now(at_home("sleep 0.1"));
            if (const auto result = s.run_now(request); result.waited) return result;
        }
    };
    CHECK_FALSE(s.run_now(at_home("true")).waited);
    until_held(at_home("true"));
    run_request order = at_home("echo $NAME $PWD $HOME; ulimit -d; read line <&3; echo $line; unshare -U true; exit 7");
    order.environment = {{"NAME", "value"}};
    order.script = "from the script";
    order.working_dir = "/tmp";
    order.limits.process_memory = 100ull << 20;
    const auto end = until_held(order);
    INFO(s.output.err);
    CHECK(s.output.out == "value /tmp /inside\n102400\nfrom the script\n");
    CHECK(end.exit_code == 7);
    CHECK(end.denied == std::vector<std::string>{"unshare"});
    order.working_dir = "/nowhere";
    CHECK(until_held(order).error.find("/nowhere") != std::string::npos);
    run_request late = at_home("setsid sleep 1000 >/dev/null 2>&1 & sleep 2000");
    late.limits.wall = std::chrono::milliseconds(500) * slowness();
    CHECK(until_held(std::move(late)).why == cause::timeout);
    CHECK(s.run_now(at_home("for each in $(pgrep -x bash); do test $each = $$ || kill -STOP $each; done")).exit_code ==
          0);
    CHECK(s.run_now(at_home("echo on")).why == cause::exited);
}

TEST_CASE("a cell from before the interpreter was loaded gives way to one with it, unless a run has left something",
          "[run][cell]")
{
    if (!has_interpreter()) return;
    python_stage s(launcher_with_interpreter(), false);
    const auto run_in = [&](std::string cell, std::string script) {
        run_request request = s.python_in_cell(std::move(script));
        request.cell = std::move(cell);
        return s.run_now(std::move(request));
    };
    const auto in_two = s.run_now(s.in_cell("touch /tmp/kept", "two")), first = run_in("one", "pass");
    REQUIRE_FALSE(first.prepared);
    s.settle();
    REQUIRE(s.loaded);
    const auto later = run_in("one", "pass");
    CHECK(later.prepared);
    CHECK(later.cell == first.cell);
    const auto same = run_in("two", "import os\nos.remove('/tmp/kept')");
    CHECK(same.exit_code == 0);
    CHECK_FALSE(same.prepared);
    CHECK(same.cell == in_two.cell);
    CHECK(run_in("two", "pass").prepared);
}

TEST_CASE("a clone in a cell that leaves processes behind, or had children, tells so", "[run][measured][cell]")
{
    if (!has_interpreter()) return;
    python_stage s;
    s.run_now(s.python_in_cell("import subprocess\nsubprocess.Popen(['sleep', '1000'])"));
    const auto left = s.run_now(s.python_in_cell("import subprocess\nsubprocess.Popen(['sleep', '1000'])"));
    CHECK(left.left.hung_up == 1);
    CHECK(left.exit_code == 0);
    const auto waited = s.run_now(s.python_in_cell("import subprocess\nsubprocess.run(['true'])"));
    CHECK(waited.left.hung_up == 0);
    const auto forged = s.run_now(s.python_in_cell(
        "import ctypes, time\n"
        "for pid in range(2, 400): ctypes.CDLL(None).sigqueue(1, 39, 0)\n"  // with open descriptors nothing ends
        "print('goes on')"));
    CHECK(s.output.out == "goes on\n");
    CHECK(forged.exit_code == 0);
    CHECK(s.has_processes(0));
}

TEST_CASE("a clone in a cell is confined before its code begins", "[run][cell]")
{
    if (!has_interpreter()) return;
    python_stage s;
    const auto result = s.run_now(s.python_in_cell(
        "import ctypes, re\n"
        "status = open('/proc/self/status').read()\n"
        "print(*[re.search(name + ':\\s*(\\w+)', status)[1] for name in"
        " ('Uid', 'Gid', 'CapPrm', 'CapEff', 'CapBnd', 'NoNewPrivs', 'Seccomp', 'Seccomp_filters')])\n"
        "print(sorted(os.listdir('/proc/self/fd')), os.path.exists('/proc/1'), os.access('/usr', os.W_OK))\n"
        "print(ctypes.CDLL(None).unshare(0x10000000))"));
    INFO(s.output.err);
    CHECK(result.prepared);
    CHECK(s.output.out.starts_with("1000 1000 0000000000000000 0000000000000000 0000000000000000 1 2 "));
    CHECK(s.output.out.find("False False\n-1\n") != std::string::npos);
    CHECK(result.denied == std::vector<std::string>{"unshare"});
    CHECK(s.run_in("true").denied.empty());
}

TEST_CASE("a clone in a cell that is too late ends alone", "[run][measured][cell]")
{
    if (!has_interpreter()) return;
    python_stage s;
    s.run_in("setsid sleep 1000 >/dev/null 2>&1 & until pgrep sleep; do :; done");
    run_request late = s.python_in_cell("import subprocess; subprocess.run(['sleep', '2000'])");
    late.limits.wall = std::chrono::milliseconds(500) * slowness();
    const auto result = s.run_now(std::move(late));
    CHECK(result.why == cause::timeout);
    CHECK(result.prepared);
    CHECK(s.has_processes(1));
}

TEST_CASE("arguments longer than a packet reach a clone", "[run][cell]")
{
    if (!has_interpreter()) return;
    python_stage s;
    run_request request = s.python_in_cell("import sys\nprint(len(sys.argv[-1]))");
    auto start = python_start::read(request.argv).value();
    start.arguments.emplace_back(90'000, 'x');
    request.argv = start.argv();
    for (const char* cell : {"", "one", "one"}) {
        request.cell = cell;
        CHECK(s.run_now(request).prepared);
        CHECK(s.output.out == "90000\n");
        s.output = {};
    }
}

TEST_CASE("starts that wait for a cell's first process end with the cell", "[run][cell]")
{
    if (!has_interpreter()) return;
    python_stage s;
    beside waits(s, s.in_cell("sleep 1000"));
    s.io.restart();
    s.io.poll();  // the start is on its way
    s.end({"someone", "one"});
    CHECK(waits.await_end().why == cause::cancelled);
    CHECK(s.run_now(s.python_in_cell("print(1)")).prepared);
}

TEST_CASE("a start that is cancelled before a clone has come for it leaves no process", "[run][cell]")
{
    if (!has_interpreter()) return;
    auto options = launcher_with_interpreter();
    options.launcher.zygote->waiting = 0;
    python_stage s(options);
    run_request request = s.python_in_cell("pass");
    request.cell.clear();
    REQUIRE(s.run_now(request).prepared);
    for (int i = 0; i != 30; ++i) {
        task_group starts(s.io.get_executor());
        starts.spawn("start", run_and_forget(s.backend, request));
        s.io.restart();
        s.io.poll();  // the start is on its way
        starts.cancel_all();
        CHECK(cmcp::test::run_coroutine(s.io, starts.wait_idle(std::chrono::seconds(10) * slowness())));
    }
    REQUIRE(s.run_now(request).prepared);
    CHECK(eventually([&] { return children_of(s.backend.launcher_pid()).size() == 1; }));
}

TEST_CASE("Firejail has no lasting cells and says so", "[run][cell][firejail]")
{
    if (!under_firejail()) return;
    shared_stage s;
    CHECK(s.run_in("true").error.find("Firejail's runs share no processes") != std::string::npos);
}

}  // namespace cmcp::sandbox::test
