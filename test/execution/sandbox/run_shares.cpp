#include "test/execution/sandbox/beside.hpp"
#include "test/execution/sandbox/run_support.hpp"

#include "limits/cgroup_files.hpp"
#include "limits/cgroup_path.hpp"

#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <iostream>

namespace cmcp::sandbox::test {
namespace {

namespace fs = std::filesystem;

run_request of(std::string principal, run_request request)
{
    request.principal = std::move(principal);
    request.limits.wall = std::chrono::seconds(60) * slowness();
    return request;
}

/// A group of cgroup v1 for this process and its children, with room for a few processes more.
class bounded_processes {
public:
    explicit bounded_processes(std::uint64_t more)
    {
        for (const cgroup_path& each : find_cgroup_paths().all)
            if (!each.unified && each.controls("pids")) parent_ = each.folder;
        if (parent_.empty()) return;
        folder_ = parent_ / ("container-mcp-test-" + std::to_string(::getpid()));
        if (::mkdir(folder_.c_str(), 0755) != 0 || !enter(folder_)) parent_.clear();
        more_ = more;
    }
    bounded_processes(const bounded_processes&) = delete;
    bounded_processes& operator=(const bounded_processes&) = delete;
    ~bounded_processes()
    {
        if (parent_.empty()) return;
        enter(parent_);
        ::rmdir(folder_.c_str());
    }

    bool there() const { return !parent_.empty(); }
    bool close() const  ///< from now on there is room for no more than that
    {
        return write_control(folder_ / "pids.max", std::to_string(number_in(folder_ / "pids.current") + more_));
    }

private:
    static bool enter(const fs::path& group) { return write_control(group / "cgroup.procs", "0"); }

    fs::path parent_, folder_;
    std::uint64_t more_ = 0;
};

/// Groups that the launcher of this number has made.
std::vector<fs::path> groups_of(int launcher)
{
    std::vector<fs::path> groups;
    for (const cgroup_path& each : find_cgroup_paths().all) {
        const std::string beginning = "container-mcp-" + std::to_string(launcher) + "-";
        std::error_code absent;
        for (const auto& entry : fs::directory_iterator(each.folder, absent))
            if (entry.path().filename().string().starts_with(beginning)) groups.push_back(entry.path());
    }
    return groups;
}

std::chrono::milliseconds processor_time_of(int process)
{
    const std::string text = read_control("/proc/" + std::to_string(process) + "/stat");
    std::istringstream fields(text.substr(text.rfind(')') + 1));
    std::string skipped;
    for (int field = 3; field != 14; ++field) fields >> skipped;
    long user = 0, kernel = 0;
    fields >> user >> kernel;
    return std::chrono::milliseconds((user + kernel) * 1000 / ::sysconf(_SC_CLK_TCK));
}

const char* const until_over = "while not os.path.exists('over'): time.sleep(0.01)\n";

}  // namespace

TEST_CASE("memory that the kernel keeps for a run ends the run or is refused, whatever keeps it", "[run][measured]")
{
    const std::string library =
        "import ctypes, mmap, os, time\nlibc = ctypes.CDLL(None, use_errno=True)\nn = ctypes.c_long\n"
        "libc.mmap.restype = ctypes.c_void_p\n"
        "def must(answer):\n  if answer in (-1, 2**64 - 1): print('refused', flush=True); raise SystemExit\n"
        "  return answer\n";
    const std::string keeper = GENERATE(
        "for i in range(400): must(libc.semget(0, 32000, 0o1600))\n",
        "m = mmap.mmap(-1, 1 << 30)\nfor i in range(64):\n  m[i << 24:(i + 1) << 24] = b'x' * (1 << 24)\n"
        "  m.madvise(mmap.MADV_DONTNEED, i << 24, 1 << 24)\n",
        "size = 300 << 30\np = must(libc.mmap(None, n(size), 1, 0x4022, -1, n(0)))\n"
        "libc.madvise(ctypes.c_void_p(p), n(size), 15)\n"
        "for at in range(p, p + size, 2 << 20): ctypes.c_char.from_address(at).value\n",
        "ports = (ctypes.c_uint64 * 2)(0, 3)\nfor i in range(60):\n"
        "  rules = must(libc.syscall(444, ports, 16, 0))\n"
        "  for port in range(65536): must(libc.syscall(445, rules, 2, (ctypes.c_uint64 * 2)(1, port), 0))\n",
        "for i in range(5):\n  if not os.fork(): kept = bytearray(b'x') * (60 << 20); time.sleep(30); os._exit(0)\n"
        "time.sleep(30)\n");
    stage s;
    auto wanted = s.python(library + keeper + "print('kept')");
    wanted.limits.wall = std::chrono::seconds(60) * slowness();
    wanted.limits.memory = 160 << 20;
    const auto result = s.run(std::move(wanted));
    INFO(keeper << s.output.out << s.output.err);
    CHECK((result.why == cause::memory_limit || s.output.out == "refused\n"));
}

TEST_CASE("callers share the processors equally, however many processes each has", "[run][measured][cold][cgroups]")
{
    stage s;
    if (!is_on(s, "cpu")) {
        std::cout << "not tested: no cgroup shares the processors out here\n";
        return;
    }
    const std::string begin =
        "import os, signal, time\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "def wait(name):\n  while not os.path.exists(name): time.sleep(0.01)\n"
        "def tell(name): open(name, 'w').close()\n";
    beside crowd(s, of("crowd", s.python(begin + "print('on', flush=True)\nwait('begun')\nchildren = []\n"
                                                 "for i in range(60):\n  children.append(os.fork())\n"
                                                 "  if not children[-1]:\n    os.setsid()\n    while True: pass\n"
                                                 "tell('busy')\nwait('over')\n"
                                                 "for child in children: os.kill(child, signal.SIGKILL)\n"
                                                 "for child in children: os.waitpid(child, 0)\n"
                                                 "print(sum(os.times()[2:4]))\n")));
    crowd.await_output();
    s.run_now(of("other", s.python(begin + "tell('begun')\nwait('busy')\nused = time.process_time()\n"
                                           "while time.process_time() < used + 0.5: pass\ntell('over')\n"
                                           "print('ran')")));
    CHECK(s.output.out == "ran\n");
    CHECK(crowd.await_end().why == cause::exited);
    // The crowd has what the other has, half a second, and some before and after that, more on a machine that has
    // much else to do. Without shares it has 30.
    const double seconds = std::stod("0" + crowd.output.out.substr(3));
    CHECK(seconds > 0.1);
    CHECK(seconds < 15);
}

TEST_CASE("a caller has at most three quarters of the machine, also where no group around has a limit",
          "[run][measured][cgroups]")
{
    stage s;
    if (!is_on(s, "memory")) {
        std::cout << "not tested: no cgroup counts memory here\n";
        return;
    }
    beside one(s, of("one", s.python("import os, time\nprint('on', flush=True)\n" + std::string(until_over))));
    one.await_output();
    const std::uint64_t memory = number_in("/proc/meminfo", "MemTotal:") * 1024;
    int limits = 0;
    for (const fs::path& group : groups_of(s.backend.launcher_pid()))
        for (const auto& caller : fs::directory_iterator(group))
            for (const char* name : {"memory.max", "memory.limit_in_bytes"}) {
                if (!caller.path().filename().string().starts_with("caller-")) continue;
                if (!fs::exists(caller.path() / name)) continue;
                INFO(caller.path() / name);
                const std::uint64_t limit = number_in(caller.path() / name);
                CHECK(limit > 0);
                CHECK(limit <= memory - memory / 4);
                ++limits;
            }
    s.run_now(of("one", s.bash("echo > over")));
    CHECK(one.await_end().why == cause::exited);
    CHECK(limits > 0);
}

TEST_CASE("page tables that take long to be measured do not keep the launcher from its other runs", "[run][measured]")
{
    auto options = launcher_under_test();
    options.launcher.use_cgroups = false;
    stage s(options);
    beside hostile(s, of("hostile", s.python("import ctypes, os, time\nlibc = ctypes.CDLL(None)\n"
                                             "open('big', 'wb').write(bytes(4 << 20))\nf = os.open('big', os.O_RDWR)\n"
                                             "for i in range(" +
                                             std::to_string(slowness() > 1 ? 1 : 8) +
                                             "):\n  if not os.fork():\n    for i in range(1000):\n"
                                             "      libc.mmap(None, ctypes.c_long(4 << 20), 1, 0x8001, f, None)\n"
                                             "    print('on', flush=True); time.sleep(60)\n" +
                                             std::string(until_over))));
    hostile.await_output();
    const auto before = processor_time_of(s.backend.launcher_pid());
    for (int i = 0; i < 5; ++i) {
        auto wanted = of("other", s.python("import time\ntime.sleep(0.3)\nprint(1)"));
        CHECK(s.run_now(std::move(wanted)).why == cause::exited);
        CHECK(s.output.out == "1\n");
    }
    // Each measurement of those page tables takes longer than all that the launcher itself has to do.
    CHECK(processor_time_of(s.backend.launcher_pid()) - before < std::chrono::milliseconds(600) * slowness());
    std::ofstream(s.workspace.path + "/over").close();
    hostile.await_end();
}

TEST_CASE("where no more processes can be made runs go on, and only new ones are refused", "[run][measured][cold]")
{
    bounded_processes room(12);
    if (!room.there()) {
        std::cout << "not tested: no group of cgroup v1 can bound the processes of this test\n";
        return;
    }
    stage s;
    beside quiet(s, of("quiet", s.python("import os, time\nprint('on', flush=True)\n" + std::string(until_over) +
                                         "print('done')")));
    quiet.await_output();
    const int launcher = s.backend.launcher_pid();
    beside greedy(s, of("greedy", s.python("import os, time\ntry:\n  while True:\n"
                                           "    if not os.fork(): time.sleep(60); os._exit(0)\n"
                                           "except OSError: print('full', flush=True)\n" +
                                           std::string(until_over))));
    REQUIRE(room.close());
    greedy.await_output();
    const auto refused = s.run_now(of("third", s.bash("echo ran")));
    CHECK(refused.why == cause::setup_failed);
    CHECK(s.output.out.empty());
    std::ofstream(s.workspace.path + "/over").close();
    CHECK(quiet.await_end().why == cause::exited);
    CHECK(quiet.output.out == "on\ndone\n");
    CHECK(greedy.await_end().why == cause::exited);
    CHECK(s.backend.launcher_pid() == launcher);
}

TEST_CASE("a caller who makes all processes that it may leaves room for the runs of others",
          "[run][measured][cold][cgroups]")
{
    bounded_processes room(60);
    if (!room.there() || without_cgroups()) {
        std::cout << "not tested: no group of cgroup v1 can bound the processes of this test\n";
        return;
    }
    REQUIRE(room.close());
    stage s;
    auto wanted = of("greedy", s.python("import os, time\ntry:\n  while True:\n"
                                        "    if not os.fork(): time.sleep(60); os._exit(0)\n"
                                        "except OSError: print('full', flush=True)\n" +
                                        std::string(until_over)));
    wanted.limits.processes = 1000;
    beside greedy(s, std::move(wanted));
    greedy.await_output();
    CHECK(s.run_now(of("other", s.bash("echo ran"))).why == cause::exited);
    CHECK(s.output.out == "ran\n");
    std::ofstream(s.workspace.path + "/over").close();
    CHECK(greedy.await_end().why == cause::exited);
}

TEST_CASE("no group is left of a launcher, not even of one that was killed", "[run][measured][cold]")
{
    int first = 0, second = 0;
    {
        stage s;
        beside longest(s, of("one", s.bash("echo on; sleep 60")));
        longest.await_output();
        first = s.backend.launcher_pid();
        REQUIRE(::kill(first, SIGKILL) == 0);
        longest.await_end();
        s.run_now(of("two", s.bash("true")));
        second = s.backend.launcher_pid();
        CHECK(second != first);
        CHECK(groups_of(first).empty());
        CHECK(groups_of(second).empty() == (without_cgroups() || !is_on(s, "memory")));
    }
    CHECK(groups_of(second).empty());
}

}  // namespace cmcp::sandbox::test
