#include "test/program/tools/sandbox_support.hpp"

#include "config/settings.hpp"

using namespace cmcp;
using namespace cmcp::test;

// All that goes on in a sandbox shares processes, network and /tmp.
namespace {

constexpr const char* serve =
    "echo page > index.html; nohup python3 -m http.server 8000 > /tmp/log 2>&1 & "
    "until (exec 3<> /dev/tcp/127.0.0.1/8000) 2> /dev/null; do :; done";
constexpr const char* ask =
    "import urllib.request\nprint(urllib.request.urlopen('http://127.0.0.1:8000/').read().decode(), end='')";

settings with_waits(std::size_t live)
{
    settings config = all_programs();
    config.max_live_sandboxes = live;
    return config;
}

json::object row_of(sandbox_stage& s, const std::string& id)
{
    const json::object listed = s.tool("list_sandboxes");
    for (const auto& each : listed.at("sandboxes").as_array())
        if (text(each.as_object(), "sandbox_id") == id) return each.as_object();
    return {};
}

std::int64_t processes_in(sandbox_stage& s, const std::string& id)
{
    return row_of(s, id).at("processes").to_number<std::int64_t>();
}

}  // namespace

TEST_CASE("programs of a live sandbox have the signals of any program, though Python was loaded before them")
{
    sandbox_stage s;
    const auto id = s.create();
    const std::string quiet = "yes | head -n 1; echo ${PIPESTATUS[0]}";
    for (const bool shell : {false, true}) {
        INFO(shell);
        const auto end = s.tool("execute_terminal_command", {{"sandbox_id", id}, {"command", quiet}, {"shell", shell}});
        CHECK(text(end, "stdout") == "y\n141\n");
        CHECK(text(end, "stderr").empty());
    }
    for (const bool stateful : {false, true}) {
        INFO(stateful);
        const auto own = s.tool("execute_python_code",
                                {{"sandbox_id", id},
                                 {"code", "import signal\nprint(signal.getsignal(signal.SIGPIPE) is signal.SIG_IGN)"},
                                 {"stateful", stateful}});
        CHECK(text(own, "stdout") == "True\n");
    }
}

TEST_CASE("a server that one run starts is reached by the next, by a job and by the kernel, and by no other sandbox")
{
    for (const way started : ways()) {
        sandbox_stage s(all_programs(), started);
        const auto id = s.create();
        REQUIRE(s.shell_in(id, serve).at("success") == true);
        CHECK(text(s.python_in(id, ask), "stdout") == "page\n");
        CHECK(text(s.tool("execute_python_code", {{"sandbox_id", id}, {"code", ask}, {"stateful", true}}), "stdout") ==
              "page\n");
        const auto job = text(
            s.tool("execute_python_code", {{"sandbox_id", id}, {"code", ask}, {"run_in_background", true}}), "job_id");
        const json::object polled = s.tool("job_poll", {{"job_id", job}, {"wait", 30}});
        CHECK(json::serialize(polled).find("page") != std::string::npos);
        CHECK(text(s.shell_in(id, "grep -c GET /tmp/log"), "stdout") == "3\n");
        while (processes_in(s, id) != 2) {  // the server and the kernel
        }
        CHECK(row_of(s, id).contains("memory_bytes"));
        CHECK(row_of(s, id).at("ports") == json::array{8000});
        const auto other = s.create();
        CHECK(text(s.python_in(other, ask), "stderr").find("refused") != std::string::npos);
        CHECK(text(s.python_in(other, "import os; print(os.listdir('/tmp'))"), "stdout") == "[]\n");
    }
}

TEST_CASE("what prints into a run ends with it, and what prints elsewhere lives on, as the result says")
{
    sandbox_stage s;
    const auto id = s.create();
    const auto printing = s.shell_in(id, "sleep 1000 &");
    CHECK(text(printing, "note").find("send its output to a file") != std::string::npos);
    CHECK_FALSE(s.shell_in(id, "true").contains("note"));
    CHECK(text(s.shell_in(id, "while pgrep -x sleep > /dev/null; do :; done; echo gone"), "stdout") == "gone\n");
    // As Node does: it takes hang-ups although nohup made it ignore them.
    const auto detached = s.shell_in(
        id, "nohup python3 -c 'import signal, time; signal.signal(1, signal.SIG_DFL); time.sleep(1000)' > log 2>&1 &");
    CHECK(text(detached, "note").find("1") != std::string::npos);
    // One that prints into its run, begun after the detached one: when that has been ended, the other would have been.
    s.shell_in(id, "sleep 1000 &");
    CHECK(text(s.shell_in(id, "while pgrep -x sleep > /dev/null; do :; done; echo gone"), "stdout") == "gone\n");
    CHECK(text(s.shell_in(id, "pgrep -c python3"), "stdout") == "1\n");
}

TEST_CASE("processes of Python that end with their program are not told of")
{
    sandbox_stage s;
    const auto id = s.create();
    const auto shared = s.shell_in(id,
                                   "python3 -c 'from multiprocessing import shared_memory as m\n"
                                   "a = m.SharedMemory(create=True, size=64); a.close(); a.unlink(); print(1)'");
    CHECK(text(shared, "stdout") == "1\n");
    CHECK_FALSE(shared.contains("note"));
}

TEST_CASE("a job that began the sandbox's cell and ends last says nothing of a loss")
{
    sandbox_stage s;
    const auto id = s.create();
    const auto job = text(s.tool("execute_terminal_command",
                                 {{"sandbox_id", id},
                                  {"command", "echo k > /tmp/k; until test -e /tmp/go; do :; done; cat /tmp/k"},
                                  {"run_in_background", true}}),
                          "job_id");
    s.shell_in(id, "until test -e /tmp/k; do :; done; touch /tmp/go");
    json::object polled;
    while (!polled.contains("result")) polled = s.tool("job_poll", {{"job_id", job}, {"wait", 30}});
    CHECK(text(polled, "output") == "k\n");
    CHECK_FALSE(polled.at("result").as_object().contains("note"));
}

TEST_CASE("one sandbox cannot take the inotify instances of the others")
{
    sandbox_stage s;
    const auto greedy = s.create(), other = s.create();
    const std::string take =
        "import ctypes\nc = ctypes.CDLL(None)\nn = 0\nwhile n < 1000 and c.inotify_init1(0) >= 0: n += 1\nprint(n)\n";
    const auto taken = text(s.python_in(greedy, take), "stdout");
    if (taken == "0\n") return;  // refused, where the machine's files cannot be made the sandbox's own
    CHECK(taken == "16\n");
    s.shell_in(greedy, "nohup python3 -c '" + take +
                           "import time; time.sleep(1000)' > log 2>&1 & until test -s log; do :; done");
    CHECK(text(s.python_in(other, take), "stdout") == "16\n");
}

TEST_CASE("a stopped sandbox says once that its processes and /tmp are gone")
{
    sandbox_stage s;
    const auto id = s.create();
    s.shell_in(id, "echo 1 > /tmp/a; echo 2 > b; setsid sleep 1000 > /dev/null 2>&1 &");
    run_coroutine(s.io, s.all->sandboxes->sweep(sandbox_manager::now() + 3'000));
    CHECK_FALSE(row_of(s, id).contains("processes"));
    const auto after = s.shell_in(id, "cat b; ls /tmp; pgrep -c sleep");
    CHECK(text(after, "stdout") == "2\n0\n");
    CHECK(text(after, "note").find("The sandbox had been stopped") != std::string::npos);
    CHECK_FALSE(s.shell_in(id, "true").contains("note"));
}

TEST_CASE("a sandbox whose programs work is not idle, one whose programs sleep is")
{
    sandbox_stage s;
    const auto works = s.create(), sleeps = s.create();
    s.shell_in(works, "setsid sh -c 'while :; do :; done' > /dev/null 2>&1 &");
    s.shell_in(sleeps, "setsid sleep 1000 > /dev/null 2>&1 &");
    auto& sandboxes = *s.all->sandboxes;
    run_coroutine(s.io, sandboxes.sweep(sandbox_manager::now()));
    double later = sandbox_manager::now();
    do {  // the start of `sleep` and the end of its run may still be work, which counts as use at that time
        s.shell_in(works, "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done");  // until some ticks have gone
        later += 3'000;
        run_coroutine(s.io, sandboxes.sweep(later));
    } while (row_of(s, sleeps).contains("processes"));
    while (processes_in(s, works) != 1) {
    }
}

TEST_CASE("a deleted or restored sandbox takes its processes along")
{
    sandbox_stage s;
    const auto id = s.create();
    s.tool("snapshot_sandbox", {{"sandbox_id", id}, {"name", "first"}});
    s.shell_in(id, "setsid sleep 1000 > /dev/null 2>&1 &");
    CHECK(s.tool("restore_sandbox", {{"sandbox_id", id}, {"snapshot", "first"}}).at("success") == true);
    CHECK_FALSE(row_of(s, id).contains("processes"));
    s.shell_in(id, "setsid sleep 1000 > /dev/null 2>&1 &");
    CHECK(s.tool("delete_sandbox", {{"sandbox_id", id}}).at("success") == true);
    CHECK(run_coroutine(s.io, s.backend.cells()).empty());
}

TEST_CASE("programs that together need too much memory all end, the kernel too, and both results say why")
{
    settings config = all_programs();
    config.memory_limit = config.kernel_memory_limit = 80 << 20;
    sandbox_stage s(config);
    const auto id = s.create();
    s.tool("execute_python_code", {{"sandbox_id", id}, {"code", "x = 1"}, {"stateful", true}});
    const auto greedy = s.shell_in(
        id, "for i in 1 2 3 4 5; do python3 -c 'import time; x = bytearray(60 << 20); time.sleep(100)' & done; wait");
    CHECK(text(greedy, "cause") == "memory_limit");
    CHECK(text(greedy, "error").find("together") != std::string::npos);
    const auto after = s.tool("execute_python_code", {{"sandbox_id", id}, {"code", "print(x)"}, {"stateful", true}});
    // The call before may have reached the server ahead of the kernel's end.
    const std::string said = after.contains("kernel") ? text(after, "kernel") : text(after, "stderr");
    const bool is_told = said.find("NameError") != std::string::npos || said.find("together") != std::string::npos;
    CHECK(is_told);
    CHECK((after.contains("kernel") || text(after, "note").find("variables are lost") != std::string::npos));
}

TEST_CASE("the longest unused sandbox without programs gives way to another, and one with programs does not")
{
    sandbox_stage s(with_waits(4));
    const auto first = s.create(), second = s.create(), third = s.create();
    s.shell_in(first, "setsid sleep 1000 > /dev/null 2>&1 &");
    s.shell_in(second, "echo 1 > /tmp/a");
    // A program that has just come to stand by counts as one of the sandbox's until its cell has told its number.
    while (s.shell_in(third, "true").contains("error_type") || !row_of(s, third).contains("processes")) {
    }
    CHECK(text(s.shell_in(second, "ls /tmp"), "note").find("had ended since") != std::string::npos);
    CHECK(row_of(s, first).contains("processes"));
    s.shell_in(second, "setsid sleep 1000 > /dev/null 2>&1 &");
    const auto refused = s.shell_in(third, "true");
    CHECK(text(refused, "error").find("SANDBOX_MAX_LIVE") != std::string::npos);
    CHECK(s.as("bob", "execute_terminal_command",
               {{"sandbox_id", text(s.as("bob", "create_sandbox", {}), "sandbox_id")}, {"command", "true"}})
              .at("success") == true);
}

TEST_CASE("an idle kernel or shared shell gives way to whatever runs in another sandbox, and its variables come back")
{
    sandbox_stage s(with_waits(4));
    const auto first = s.create("first"), second = s.create("second"), third = s.create("third");
    const auto keep = [&](const std::string& id, const std::string& code) {
        return s.tool("execute_python_code", {{"sandbox_id", id}, {"code", code}, {"stateful", true}});
    };
    const auto shared = [&](const std::string& id, const std::string& command) {
        return s.tool("execute_terminal_command", {{"sandbox_id", id}, {"command", command}, {"shell", true}});
    };
    REQUIRE(keep(first, "x = 41").at("success") == true);
    REQUIRE(keep(second, "y = 1").at("success") == true);
    const auto command = s.shell_in(third, "echo hi");
    CHECK(text(command, "stdout") == "hi\n");
    CHECK(text(command, "note").find("first") != std::string::npos);
    const auto back = keep(first, "print(x + 1)");  // in the place of the second
    CHECK(text(back, "stdout") == "42\n");
    CHECK(text(back, "note").find("make room") != std::string::npos);
    CHECK(text(s.python_in(second, "print(6 * 7)"), "stdout") == "42\n");
    CHECK(text(shared(third, "cd /tmp; pwd"), "stdout") == "/tmp\n");
    CHECK(text(keep(second, "print(y)"), "stdout") == "1\n");
    const auto opened = s.tool("shell_open", {{"sandbox_id", first}});
    CHECK(opened.contains("shell_id"));
    s.shell_in(second, "setsid sleep 1000 > /dev/null 2>&1 &");
    const auto refused = s.shell_in(third, "true");
    CHECK(text(refused, "error").find("SANDBOX_MAX_LIVE") != std::string::npos);
    CHECK(text(refused, "error").find("stop_sandbox") != std::string::npos);
}

TEST_CASE("a sandbox that was full takes files again at once when there is room")
{
    settings config = all_programs();
    config.sandbox_disk_quota = 12 << 20;
    sandbox_stage s(config);
    const auto id = s.create();
    const auto filled = s.shell_in(id, "head -c 40000000 /dev/zero > big; echo went on");
    CHECK(text(filled, "hint").find("SANDBOX_DISK_QUOTA") != std::string::npos);
    CHECK(fs::file_size(s.files_of(id) / "big") <= 12 << 20);
    const auto several = s.shell_in(id, "for i in 1 2 3 4; do head -c 4000000 /dev/zero > b$i; done");
    CHECK(several.at("success") == false);
    s.shell_in(id, "echo x > full");
    const auto removed = s.shell_in(id, "rm -f b* big full");
    CAPTURE(removed);
    CHECK(removed.at("success") == true);
    CHECK_FALSE(removed.contains("denied"));
    CHECK(text(s.shell_in(id, "echo hi > f && cat f"), "stdout") == "hi\n");
}

TEST_CASE("a program of a sandbox listens on a port below 1024")
{
    sandbox_stage s;
    const auto id = s.create();
    const auto served =
        s.shell_in(id,
                   "echo low > index.html; nohup python3 -m http.server 80 > /tmp/log 2>&1 & server=$!; "
                   "until (exec 3<> /dev/tcp/127.0.0.1/80) 2> /dev/null; do kill -0 $server || exit 1; done; curl -s "
                   "localhost:80");
    CHECK(text(served, "stdout") == "low\n");
    CHECK(row_of(s, id).at("ports") == json::array{80});
    CHECK(s.tool("list_exposed_ports", {{"sandbox_id", id}}).at("listening") == json::array{80});
}

TEST_CASE("a shell that stands by is called bash alone")
{
    sandbox_stage s;
    const auto id = s.create();
    s.shell_in(id, "true");
    std::string listed;
    const auto count = [&] { return std::count(listed.begin(), listed.end(), '\n'); };
    // Itself and the next one, which may not have come to standing by yet.
    for (int tries = 0; count() < 2 || (listed.find(": :") != std::string::npos && tries != 20); ++tries)
        listed = text(s.shell_in(id, "ps -C bash -o args=; true"), "stdout");
    CHECK(listed.find(": :") == std::string::npos);
    CHECK(listed.find("bash\n") != std::string::npos);
}
