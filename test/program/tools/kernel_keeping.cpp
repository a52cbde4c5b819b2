#include "test/program/tools/sandbox_support.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

std::string note(const kernel_stage& s) { return text(s.last.structured, "note"); }

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("variables are back after a sandbox was idle, and what could not be kept is named")
{
    kernel_stage s;
    s.keep("import math, threading\nx = [1]\nsame = x\ndef f(n): return n + len(x)\nlock = threading.Lock()");
    run_coroutine(s.io, s.all->sandboxes->sweep(sandbox_manager::now() + 1e6 - 1), std::chrono::seconds(20));
    CHECK(fs::exists(s.files_of(s.id) / ".kernel/state"));
    const auto result = s.keep("[f(1), math.floor(2.5), same is x, 'lock' in globals()]");
    CHECK(result.at("result") == json::array{2, 2, true, false});
    CHECK(has(note(s), "stopped because nobody used it. It was started anew: 5 variables are back, but not lock ("));
    CHECK(strings(result, "files").empty());
    CHECK_FALSE(fs::exists(s.files_of(s.id) / ".kernel/state"));
    CHECK_FALSE(s.keep("1").contains("note"));
}

TEST_CASE("variables are back after a stop that keeps files, and lost where code ran")
{
    kernel_stage s;
    s.keep("x = 5");
    s.tool("stop_sandbox", {{"sandbox_id", s.id}, {"keep_files", true}});
    CHECK(s.keep("x").at("result") == 5);
    CHECK(has(note(s), "The sandbox was stopped. It was started anew: 1 variable is back."));
    const auto job =
        text(s.keep("print('up')\nimport time\ntime.sleep(1000)", {{"run_in_background", true}}), "job_id");
    CHECK(text(s.tool("job_poll", {{"job_id", job}, {"wait", 30}}), "output") == "up\n");
    s.tool("stop_sandbox", {{"sandbox_id", s.id}, {"keep_files", true}});
    CHECK(s.keep("'x' in globals()").at("result") == false);
    CHECK(has(note(s), "its variables are lost"));
}

TEST_CASE("a restarted kernel has the variables only where that is wanted")
{
    kernel_stage s;
    s.keep("x = 5");
    CHECK(s.tool("restart_kernel", {{"sandbox_id", s.id}, {"keep_variables", true}}).at("was_running") == true);
    CHECK(s.keep("x").at("result") == 5);
    CHECK(has(note(s), "The kernel was restarted. It was started anew: 1 variable is back."));
    CHECK(s.tool("restart_kernel", {{"sandbox_id", s.id}}).at("was_running") == true);
    CHECK(s.keep("'x' in globals()").at("result") == false);
    CHECK_FALSE(s.last.structured.contains("note"));
}

TEST_CASE("a kernel that goes on after its variables were written forgets what was written")
{
    kernel_stage s;
    s.keep("x = 5");
    run_coroutine(s.io, s.all->kernels->keep(s.id, "The sandbox was stopped"), std::chrono::seconds(20));
    CHECK(s.keep("x += 1\nx").at("result") == 6);
    CHECK_FALSE(s.last.structured.contains("note"));
    CHECK_FALSE(fs::exists(s.files_of(s.id) / ".kernel/state"));
    s.keep("import os\nos._exit(3)");
    CHECK(s.keep("'x' in globals()").at("result") == false);
    CHECK(has(note(s), "The kernel ended (exited, exit code 3). It was started anew: its variables are lost."));
}

TEST_CASE("variables that were written when the server stopped are back where nothing else is known")
{
    kernel_stage s;
    s.keep("x = 5");
    run_coroutine(s.io, s.all->kernels->stop(), std::chrono::seconds(20));
    CHECK(s.keep("x").at("result") == 5);
    CHECK(has(note(s), "restart of the server"));
    CHECK(has(note(s), "1 variable is back"));
}
