#include "test/program/tools/sandbox_support.hpp"

#include "config/settings.hpp"

#include <algorithm>
#include <fstream>
#include <map>

using namespace cmcp;
using namespace cmcp::test;

TEST_CASE("a kernel keeps variables, imports and functions, and gives the last expression's value")
{
    kernel_stage s;
    auto result = s.keep("import math\nx = 41\ndef f(a):\n    return a + x\nprint('made')");
    CHECK(text(result, "stdout") == "made\n");
    CHECK_FALSE(result.contains("result"));
    result = s.keep("f(1)");
    CHECK(result.at("result") == 42);
    CHECK(result.at("success") == true);
    CHECK(s.keep("_ * math.floor(1.5)").at("result") == 42);
    CHECK(text(s.keep("object()"), "result").find("<object object") == 0);
    result = s.keep("1/0");
    CHECK(result.at("exit_code") == 1);
    CHECK(text(result, "stderr").find("ZeroDivisionError") != std::string::npos);
    CHECK(text(result, "stderr").find("1/0") != std::string::npos);
    CHECK(s.keep("import sys; sys.exit(3)").at("exit_code") == 3);
    CHECK(s.keep("def broken(").at("exit_code") == 1);
    CHECK(s.keep("open('a.txt', 'w').write('1'); x").at("result") == 41);
    CHECK(strings(s.last.structured, "files") == std::vector<std::string>{"a.txt"});
    CHECK(text(s.python_in(s.id, "print('x' in globals())"), "stdout") == "False\n");
}

TEST_CASE("a kernel imports what was installed after its start, before the system's packages")
{
    kernel_stage s;
    s.keep("x = 1");
    CHECK(text(s.keep("import late"), "stderr").find("No module named 'late'") != std::string::npos);
    const std::string folder =
        "F=$(python3 -c 'import site; print(site.getusersitepackages())') && mkdir -p $F && cd $F && ";
    s.shell_in(s.id, folder + "echo v=1 > late.py");
    CHECK(s.keep("import late\n[x, late.v]").at("result") == json::array{1, 1});
    s.shell_in(s.id,
               folder + "mkdir beside; echo v=2 > beside/later.py; echo beside > later.pth; echo v=3 > latest.py");
    CHECK(s.keep("import later, latest\n[later.v, latest.v]").at("result") == json::array{2, 3});
    const std::string order =
        "import site, sys\nat = sys.path.index\nat(site.getusersitepackages()) < "
        "min(at(p) for p in site.getsitepackages() if p in sys.path)";
    CHECK(s.keep(order).at("result") == true);
    const std::string once = "sum(p.startswith(site.getusersitepackages()) for p in sys.path)";
    CHECK(s.keep(once).at("result") == 2);
    const auto copy = text(s.tool("fork_sandbox", {{"sandbox_id", s.id}}), "sandbox_id");
    s.id = copy;
    CHECK(s.keep(once).at("result") == 2);
}

TEST_CASE("a fork imports what was installed after the first kernel's start")
{
    kernel_stage s;
    s.keep("x = 1");
    s.shell_in(s.id,
               "F=$(python3 -c 'import site; print(site.getusersitepackages())') && mkdir -p $F/beside && cd $F && "
               "echo v=1 > late.py; echo beside > later.pth; echo v=2 > beside/later.py");
    s.id = text(s.tool("fork_sandbox", {{"sandbox_id", s.id}}), "sandbox_id");
    CHECK(s.keep("import late, later\n[x, late.v, later.v]").at("result") == json::array{1, 1, 2});
}

TEST_CASE("code that takes too long is interrupted and the kernel's variables stay")
{
    kernel_stage s;
    s.keep("x = 1");
    const auto result = s.keep("print('before', flush=True)\nimport time\ntime.sleep(1000)", {{"timeout", 0.5}});
    CHECK(text(result, "stdout") == "before\n");
    CHECK(text(result, "cause") == "timeout");
    CHECK(s.last.is_error);
    CHECK(s.keep("x").at("result") == 1);
}

TEST_CASE("code that cannot be interrupted ends its kernel, and the next call says nothing of the old variables")
{
    kernel_stage s;
    s.keep("x = 1");
    const auto result =
        s.keep("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass", {{"timeout", 0.3}});
    CHECK(text(result, "cause") == "timeout");
    CHECK(text(result, "kernel") ==
          "The kernel was ended because its code took too long and could not be interrupted. It "
          "starts anew with the next call; its variables are lost.");
    CHECK(s.progress.logs.empty());
    CHECK(s.keep("'x' in globals()").at("result") == false);
    const std::string why = "The kernel was ended because its code took too long and could not be interrupted.";
    CHECK(s.progress.logs == std::vector<std::string>{"kernel: " + why + " Another one starts."});
    CHECK(text(s.last.structured, "note") == why + " It was started anew: its variables are lost.");
    CHECK_FALSE(s.keep("1").contains("note"));
}

TEST_CASE("a kernel that is killed by its limit says so and starts anew")
{
    settings config = all_programs();
    config.kernel_memory_limit = 100 << 20;
    kernel_stage s(config);
    const auto result = s.keep("x = bytearray(400_000_000)\nprint(len(x))");
    // The limit either refuses the allocation or ends the process.
    if (result.contains("kernel"))
        CHECK(text(result, "kernel").find("SANDBOX_KERNEL_MEMORY") != std::string::npos);
    else
        CHECK(text(result, "stderr").find("MemoryError") != std::string::npos);
    CHECK(s.keep("1 + 1").at("result") == 2);
}

TEST_CASE("runs of one kernel take turns, an interrupt ends the first, a restart forgets everything")
{
    kernel_stage s;
    s.keep("x = 5");
    const auto start = [&](std::string code) {
        return text(s.keep(std::move(code), {{"run_in_background", true}}), "job_id");
    };
    const auto first = start("print('up')\nimport time\ntime.sleep(1000)");
    CHECK(text(s.tool("job_poll", {{"job_id", first}, {"wait", 30}}), "output") == "up\n");
    const auto second = start("x + 1");
    auto waiting = s.tool("job_poll", {{"job_id", second}});
    while (!waiting.contains("messages")) waiting = s.tool("job_poll", {{"job_id", second}, {"wait", 0.01}});
    CHECK(strings(waiting, "messages") == std::vector<std::string>{"Waiting for the run before in this kernel."});
    CHECK(text(waiting, "output").empty());
    CHECK(s.tool("interrupt_kernel", {{"sandbox_id", s.id}}).at("was_running") == true);
    const auto ended = [&](const std::string& job) {
        auto seen = s.tool("job_poll", {{"job_id", job}, {"wait", 30}, {"cursor", 1 << 20}});
        while (text(seen, "state") == "running")
            seen = s.tool("job_poll", {{"job_id", job}, {"wait", 30}, {"cursor", 1 << 20}});
        return seen.at("result").as_object();
    };
    CHECK(ended(first).at("exit_code") == 130);
    CHECK(ended(second).at("result") == 6);
    CHECK(s.tool("restart_kernel", {{"sandbox_id", s.id}}).at("was_running") == true);
    CHECK(s.tool("restart_kernel", {{"sandbox_id", s.id}}).at("was_running") == false);
    CHECK(s.keep("'x' in globals()").at("result") == false);
}

TEST_CASE("a deleted sandbox takes its kernel along")
{
    kernel_stage s;
    s.keep("x = 1");
    const auto job =
        text(s.keep("print('up')\nimport time\ntime.sleep(1000)", {{"run_in_background", true}}), "job_id");
    s.tool("job_poll", {{"job_id", job}, {"wait", 30}});
    CHECK(s.tool("delete_sandbox", {{"sandbox_id", s.id}}).at("success") == true);
    CHECK(text(s.tool("job_poll", {{"job_id", job}, {"wait", 30}, {"cursor", 100}}), "state") == "failed");
}

TEST_CASE("a kernel that writes on its link by itself is ended before it has written all")
{
    kernel_stage s;
    // The driver's globals have the link; the frame is longer than the socket holds.
    const std::string flood =
        "import os, struct, sys\n"
        "link = sys._getframe(1).f_globals['link']\n"
        "data = b'[' + b'[],' * 2_700_000 + b'[]]'\n"
        "data = struct.pack('>I', len(data)) + data\n"
        "while data: data = data[os.write(link, data):]\n"
        "open('written', 'w')\n";
    s.keep("x = 1");
    const auto result = s.keep(flood);
    CHECK(s.last.is_error);
    CHECK(text(result, "kernel").find("what no call awaits") != std::string::npos);
    CHECK_FALSE(fs::exists(s.files_of(s.id) / "written"));
    CHECK(s.keep("'x' in globals()").at("result") == false);
}

TEST_CASE("a kernel's second answer and an answer to another call end it")
{
    kernel_stage s;
    const std::string say = "import sys\nsay = sys._getframe(1).f_globals['say']\n";
    s.keep(say + "say({'id': 0})");
    for (s.progress.logs.clear(); s.progress.logs.empty();) s.keep("1");
    s.progress.logs.clear();
    s.keep(say + "say({'id': sys._getframe(1).f_globals['current_job']['id'], 'ok': True})");
    while (s.progress.logs.empty()) s.keep("1");
    REQUIRE(s.progress.logs.size() == 1);
    CHECK(s.progress.logs[0].find("sent the server") != std::string::npos);
}

TEST_CASE("a kernel that prints more than one call may is ended, many calls may print more")
{
    settings config = all_programs();
    config.output_hard_limit = 1 << 20;
    kernel_stage s(config);
    for (int i = 0; i < 3; ++i) CHECK(s.keep("print('a' * 600_000)").at("success") == true);
    const auto result = s.keep("while True: print('a' * 1000)");
    CHECK(text(result, "kernel").find("1 MiB that one may print") != std::string::npos);
    CHECK(text(result, "cause") == "output_limit");
}

TEST_CASE("a kernel that has used up its processor time is ended and says so")
{
    settings config = all_programs();
    config.kernel_cpu_limit = std::chrono::seconds(1);
    kernel_stage s(config);
    CHECK(text(s.keep("while True: pass"), "kernel").find("used up its processor time") != std::string::npos);
}

TEST_CASE("a caller's longest unused kernel gives way to another, and one that runs code does not")
{
    settings config = all_programs();
    config.auth_quotas = {"*:kernels=2"};
    config.max_jobs = 4;
    kernel_stage s(config);
    const auto first = s.id, second = s.create(), third = s.create();
    const auto keep = [&](const std::string& id, std::string code, json::object more = {}) {
        s.id = id;
        return s.keep(std::move(code), std::move(more));
    };
    keep(first, "x = 1");
    keep(second, "x = 2");
    keep(first, "x += 1");
    keep(third, "x = 3");
    REQUIRE(s.progress.logs.size() == 1);
    CHECK(s.progress.logs[0].find("AUTH_QUOTAS=*:kernels allows (2)") != std::string::npos);
    CHECK(keep(first, "x").at("result") == 2);
    CHECK(keep(third, "x").at("result") == 3);
    const auto hold = [&](const std::string& id) {
        const auto job =
            text(keep(id, "print('up')\nimport time\ntime.sleep(1000)", {{"run_in_background", true}}), "job_id");
        CHECK(text(s.tool("job_poll", {{"job_id", job}, {"wait", 30}}), "output") == "up\n");
    };
    hold(first);
    hold(third);
    const auto refused = keep(second, "x");
    CHECK(s.last.is_error);
    CHECK(text(refused, "error").find("restart_kernel") != std::string::npos);
    s.tool("restart_kernel", {{"sandbox_id", first}});
    s.progress.logs.clear();
    const std::string why = "The kernel had been ended to make room for another one.";
    const auto back = keep(second, "x");
    CHECK(back.at("result") == 2);
    CHECK(text(back, "note") == why + " It was started anew: 1 variable is back.");
    CHECK(s.progress.logs == std::vector<std::string>{"kernel: " + why + " Another one starts."});
}

TEST_CASE("the live sandboxes of a caller stay within a share of memory, and other callers have theirs")
{
    settings config = all_programs();
    config.max_jobs = 8;
    kernel_stage s(config);
    if (!s.backend.keeps_cells()) return;
    auto& sandboxes = *s.all->sandboxes;
    sandboxes.set_memory_of_a_caller(200u << 20);
    const auto keep = [&](const std::string& id, std::string code, json::object more = {}) {
        s.id = id;
        return s.keep(std::move(code), std::move(more));
    };
    std::vector<std::string> all{s.id};
    while (all.size() != 6) all.push_back(s.create());
    std::string notes;
    for (const auto& id : all) {
        const auto result = keep(id, "x = '" + id + "'\ny = b'y' * (50 << 20)");
        REQUIRE(result.at("success") == true);
        if (result.contains("note")) notes += text(result, "note");
        CHECK(s.all->kernels->list().size() <= 3);
    }
    CHECK(notes.find("made room for this one") != std::string::npos);
    CHECK(keep(all.front(), "x").at("result") == json::value(all.front()));

    std::vector<std::string> busy;
    for (const auto& each : s.all->kernels->list()) busy.push_back(each.sandbox);
    for (const auto& id : busy) {
        const auto job =
            text(keep(id, "print('up')\nimport time\ntime.sleep(1000)", {{"run_in_background", true}}), "job_id");
        CHECK(text(s.tool("job_poll", {{"job_id", job}, {"wait", 30}}), "output") == "up\n");
    }
    sandboxes.set_memory_of_a_caller(busy.size() * (64u << 20));
    const auto idle =
        *std::ranges::find_if(all, [&](const auto& id) { return std::ranges::find(busy, id) == busy.end(); });
    const auto refused = keep(idle, "x");
    CHECK(text(refused, "error_type") == "QuotaExceeded");
    CHECK(text(refused, "error").find("stop_sandbox") != std::string::npos);
    CHECK(text(s.tool("shell_open", {{"sandbox_id", idle}}), "error_type") == "QuotaExceeded");
    const auto bobs = text(s.as("bob", "create_sandbox", {}), "sandbox_id");
    CHECK(s.as("bob", "execute_python_code", {{"sandbox_id", bobs}, {"code", "x = 1"}, {"stateful", true}})
              .at("success") == true);
    sandboxes.set_memory_of_a_caller(1ull << 40);
    CHECK(keep(idle, "x").at("result") == json::value(idle));
}

TEST_CASE("a job that waits for its turn in a kernel is queued in the answer that begins it")
{
    kernel_stage s;
    const auto first = s.keep("print('up')\nimport time\ntime.sleep(1000)", {{"run_in_background", true}});
    CHECK(text(first, "state") == "running");
    CHECK(text(s.tool("job_poll", {{"job_id", first.at("job_id")}, {"wait", 30}}), "output") == "up\n");
    const auto second = s.keep("print('late')", {{"run_in_background", true}});
    CHECK(text(second, "state") == "queued");
    CHECK(text(s.tool("job_kill", {{"job_id", first.at("job_id")}}), "state") == "killed");
    const auto seen = s.tool("job_poll", {{"job_id", second.at("job_id")}, {"wait", 30}, {"cursor", 5}});
    CHECK(text(seen, "state") == "finished");
    CHECK(seen.at("result").as_object().at("success") == true);
    CHECK(text(s.tool("job_poll", {{"job_id", second.at("job_id")}}), "output") == "late\n");
}

TEST_CASE(
    "all callers together have as many kernels as SANDBOX_MAX_LIVE says, and who has more gives way to who has less")
{
    settings config = all_programs();
    config.max_kernels = 3;
    sandbox_stage s(config);
    std::map<std::string, std::string> owners;
    const auto create = [&](const std::string& owner) {
        const auto id = text(s.as(owner, "create_sandbox", {}), "sandbox_id");
        owners[id] = owner;
        return id;
    };
    const auto keep = [&](const std::string& id, std::string code) {
        return s.as(owners.at(id), "execute_python_code", {{"sandbox_id", id}, {"code", code}, {"stateful", true}});
    };
    const auto lives = [&](const std::string& id) {
        const auto result = keep(id, "x");
        return result.at("success") == true && !result.contains("note");
    };
    const auto first = create("alice"), second = create("alice"), third = create("alice");
    const auto bobs = create("bob"), cleos = create("cleo"), dans = create("dan");
    for (const auto& id : {first, second, third}) keep(id, "x = 1");
    CHECK(keep(bobs, "x = 2").at("success") == true);
    CHECK(keep(cleos, "x = 3").at("success") == true);
    const auto refused = keep(dans, "x = 4");
    CHECK(text(refused, "error_type") == "QuotaExceeded");
    CHECK(text(refused, "error").find("SANDBOX_MAX_LIVE") != std::string::npos);
    CHECK(lives(third));
    CHECK(lives(bobs));
    CHECK(lives(cleos));
    CHECK_FALSE(lives(first));  // another kernel of alice made room, for nobody has more than her
    CHECK_FALSE(lives(third));
    CHECK(s.as("bob", "delete_sandbox", {{"sandbox_id", bobs}}).at("success") == true);
    CHECK(keep(dans, "x = 4").at("success") == true);
}
