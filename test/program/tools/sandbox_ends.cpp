#include "test/program/tools/sandbox_support.hpp"

#include "config/settings.hpp"

#include <signal.h>

using namespace cmcp;
using namespace cmcp::test;

// How processes of a sandbox end without its files: by a limit, with the launcher, by themselves.
namespace {

constexpr const char* fork_bomb =
    "import os, time\nwhile True:\n    try:\n        if os.fork() == 0: time.sleep(1000)\n    except OSError:\n"
    "        print('full', flush=True)\n        time.sleep(0.01)\n";

std::string job_that_prints(sandbox_stage& s, const std::string& id, std::string code, const std::string& awaited)
{
    const auto job = text(
        s.tool("execute_python_code", {{"sandbox_id", id}, {"code", std::move(code)}, {"run_in_background", true}}),
        "job_id");
    // What never stops printing is heard when the wait ends.
    while (text(s.tool("job_poll", {{"job_id", job}, {"wait", 0.2}}), "output").find(awaited) == std::string::npos) {
    }
    return job;
}

void kill_launcher(sandbox_stage& s)
{
    REQUIRE(s.backend.launcher_pid() > 0);  // kill(-1) would end the machine
    REQUIRE(::kill(s.backend.launcher_pid(), SIGKILL) == 0);
}

void check_way_out(const json::object& result)
{
    INFO(json::serialize(result));
    const std::string note = text(result, "note");
    CHECK(note.find("process limit 64") != std::string::npos);
    CHECK(note.find("stop_sandbox with keep_files") != std::string::npos);
}

}  // namespace

TEST_CASE("a sandbox full of processes says so, and its processes can be ended without its files")
{
    settings few = all_programs();
    few.process_limit = 64;
    for (const way started : ways()) {
        sandbox_stage s(few, started);
        const auto id = s.create();
        s.shell_in(id, "echo kept > file");
        s.tool("execute_terminal_command", {{"sandbox_id", id}, {"command", "true"}, {"shell", true}});
        const auto shell = text(s.tool("shell_open", {{"sandbox_id", id}}), "shell_id");
        const auto job = job_that_prints(s, id, fork_bomb, "full");
        // Not by bash, which tries again for fifteen seconds.
        check_way_out(s.shell_in(id, "exec python3 -c 'import os; os.fork()'"));
        check_way_out(s.tool("execute_terminal_command",
                             {{"sandbox_id", id}, {"command", "ls | cat; false"}, {"shell", true}, {"timeout", 1}}));
        const auto stopped = s.tool("stop_sandbox", {{"sandbox_id", id}, {"keep_files", true}});
        CHECK(text(stopped, "status") == "success");
        CHECK(text(s.tool("job_poll", {{"job_id", job}, {"wait", 10}}), "state") == "failed");
        const auto after = s.shell_in(id, "cat file; ls | wc -l; pgrep -c python3");
        CHECK(text(after, "stdout") == "kept\n1\n0\n");
        CHECK(text(after, "note").find("The sandbox had been stopped") != std::string::npos);
        s.tool("shell_read", {{"shell_id", shell}});
        CHECK(s.last.is_error);
    }
}

TEST_CASE("what ends with the launcher says what is lost and what is kept")
{
    sandbox_stage s;
    const auto id = s.create();
    s.shell_in(id, "echo kept > file");
    const auto shell = text(s.tool("shell_open", {{"sandbox_id", id}}), "shell_id");
    const auto job = job_that_prints(s, id, "import time\nprint('begun', flush=True)\ntime.sleep(1000)", "begun");
    kill_launcher(s);
    json::object polled;
    while (!polled.contains("result")) polled = s.tool("job_poll", {{"job_id", job}, {"wait", 30}});
    CHECK(text(polled, "state") == "lost");
    CHECK(text(polled, "cause") == "lost");
    const std::string error = text(polled.at("result").as_object(), "error");
    CHECK(error.find("could not be started") == std::string::npos);
    CHECK(error.find("files are kept") != std::string::npos);
    const auto read = s.tool("shell_read", {{"shell_id", shell}, {"timeout", 30}, {"wait_for", "never"}});
    CHECK(read.at("running") == false);
    CHECK(text(read, "error").find("shell_open") != std::string::npos);
    CHECK(text(s.shell_in(id, "cat file"), "stdout") == "kept\n");
}

TEST_CASE("a kernel that exits by itself has exited")
{
    kernel_stage s;
    const auto result = s.keep("import os\nos._exit(1)");
    CHECK(text(result, "cause") == "exited");
    CHECK(result.at("exit_code") == 1);
    CHECK(text(result, "kernel").find("(exited, exit code 1)") != std::string::npos);
}

TEST_CASE("a call that takes too long ends what belongs to it, and programs begun with nohup or setsid live on")
{
    sandbox_stage s;
    const auto id = s.create();
    const auto ended =
        s.tool("execute_terminal_command",
               {{"sandbox_id", id},
                {"command",
                 "nohup sleep 1001 > log 2>&1 & nohup bash -c 'sleep 1002; true' > log 2>&1 & "
                 "nohup env -u _ sleep 1003 > log 2>&1 & nohup python3 -c 'import signal, time; signal.signal(1, "
                 "signal.SIG_DFL); open(\"up\", \"w\"); time.sleep(1004)' > log 2>&1 & "
                 "setsid sleep 1005 > log 2>&1 & sleep 1006 > log 2>&1 & "
                 "until test -e up; do :; done; sleep 1007 > log 2>&1; true"},
                {"timeout", 3}});
    CHECK(text(ended, "cause") == "timeout");
    CHECK(text(ended, "error").find("at most 120 s, BASH_TIMEOUT_MAX") != std::string::npos);
    CHECK(text(ended, "note").find("go on in the background") != std::string::npos);
    CHECK(text(s.shell_in(id, "pgrep -f 'sleep.10[0]' | xargs -n1 ps -o args= -p | grep -o 100[0-9] | sort -u"),
               "stdout") == "1001\n1002\n1003\n1004\n1005\n");
}

TEST_CASE("a command that wants the network or a terminal is told the tool for that")
{
    sandbox_stage s;
    const auto id = s.create();
    const auto hint_of = [&](const std::string& command) { return text(s.shell_in(id, command), "hint"); };
    CHECK(hint_of("top").find("shell_open") != std::string::npos);
    CHECK(hint_of("echo 'npm ERR! code EAI_AGAIN' >&2; false").find("install_packages_in_sandbox with manager npm") !=
          std::string::npos);
    CHECK(hint_of("echo 'error: externally-managed-environment' >&2; false").find("install_packages_in_sandbox") !=
          std::string::npos);
    CHECK(hint_of("python3 -c 'import urllib.request; urllib.request.urlopen(\"http://no.example/\")'")
              .find("has no network") != std::string::npos);
    CHECK_FALSE(s.shell_in(id, "echo 'npm ERR! code EAI_AGAIN' >&2").contains("hint"));
    CHECK_FALSE(s.shell_in(id, "echo not a terminal >&2; false").contains("hint"));
}
