#include "test/program/tools/prepared_support.hpp"

#include "config/settings.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>

#include <signal.h>

#include <fstream>
#include <map>
#include <sstream>

using namespace cmcp;
using namespace cmcp::test;

namespace {

// A child of `parent` that has this name and no children of its own; -1: there is none.
pid_t child_named(const std::string& name, pid_t parent)
{
    const auto first_line = [](const std::string& path) {
        std::ifstream file(path);
        std::string line;
        std::getline(file, line);
        return line;
    };
    const std::string folder = "/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent);
    std::istringstream children(first_line(folder + "/children"));
    for (pid_t child; children >> child;) {
        const std::string of_child = "/proc/" + std::to_string(child);
        const std::string own = of_child + "/task/" + std::to_string(child) + "/children";
        if (first_line(of_child + "/comm") == name && first_line(own).empty()) return child;
    }
    return -1;
}

}  // namespace

TEST_CASE("a run by way of the zygote gives what a cold run gives")
{
    if (!built()) return;
    system_stage cold;
    system_stage prepared(all_programs(), way::zygote);
    for (const char* code : programs) {
        INFO(code);
        CHECK(json::serialize(comparable(prepared.python(code))) == json::serialize(comparable(cold.python(code))));
    }
}

TEST_CASE("nothing of a run is left for the next run of the zygote")
{
    if (!built()) return;
    system_stage s(with(1, 1000), way::zygote);
    const std::string mark = R"(
import sys, os, json, builtins, tempfile
print(hasattr(json, 'mark'), hasattr(builtins, 'mark'), 'mark' in os.environ, 'mark' in sys.modules, os.path.exists('/tmp/mark'),
      os.path.exists('/dev/shm/mark'), len(os.listdir('/tmp')), tempfile._name_sequence, sys.getrecursionlimit() == 77)
json.mark = builtins.mark = sys.modules['mark'] = 1
os.environ['mark'] = open('/tmp/mark', 'w').name
open('/dev/shm/mark', 'w')
sys.setrecursionlimit(77)
)";
    for (int i = 0; i < 4; ++i)
        CHECK(text(s.python(mark), "output") == "False False False False False False 0 None False\n");
}

TEST_CASE("random numbers of the zygote's runs differ")
{
    if (!built()) return;
    system_stage s(with(2, 1000), way::zygote);
    const std::string code =
        "import random, uuid, multiprocessing, secrets, ssl, tempfile, os\n"
        "_ = [random.random(), str(uuid.uuid4()), bytes(multiprocessing.current_process().authkey).hex(),"
        " secrets.token_hex(), ssl.RAND_bytes(16).hex(), tempfile.mktemp(), os.urandom(8).hex()]";
    const json::array first = s.python(code).at("result").as_array();
    for (int i = 0; i < 3; ++i) {
        const json::array next = s.python(code).at("result").as_array();
        for (std::size_t k = 0; k < first.size(); ++k) CHECK(next[k] != first[k]);
    }
}

TEST_CASE("no more runs share a hash seed and addresses than one interpreter makes clones")
{
    if (!built()) return;
    const std::size_t most = GENERATE(1u, 2u);
    system_stage s(with(2, most), way::zygote);
    std::map<std::string, std::size_t> seeds, addresses;
    for (int i = 0; i < 300 && seeds.size() < 4; ++i) {
        const auto result = s.call("system_run_python", {{"code", "_ = [hash('seed'), id(None)]"}}).structured;
        REQUIRE(result.at("success") == true);
        if (!result.contains("prepared")) continue;  // the next interpreter is not loaded yet
        const auto& values = result.at("result").as_array();
        CHECK(++seeds[json::serialize(values[0])] <= most);
        CHECK(++addresses[json::serialize(values[1])] <= most);
    }
    CHECK(seeds.size() >= 4);
}

TEST_CASE("a waiting child serves only the folder it was made for")
{
    if (!built()) return;
    system_stage s(with(2, 1000), way::zygote);
    const auto run_as = [&](std::string who, std::string code) {
        caller as;
        as.principal = std::move(who);
        auto work = s.start("system_run_python", {{"code", std::move(code)}}, as);
        return text(run_coroutine(s.io, std::move(work), std::chrono::seconds(60)).structured, "output");
    };
    const std::string list = "import os\nprint(sorted(os.listdir()))";
    for (int i = 0; i < 3; ++i) {
        run_as("alice", "open('of_alice', 'w')");
        run_as("bob", "open('of_bob', 'w')");
        CHECK(run_as("alice", list) == "['of_alice']\n");
        CHECK(run_as("bob", list) == "['of_bob']\n");
    }
}

TEST_CASE("a folder that was replaced is not seen as it was")
{
    if (!built()) return;
    system_stage s(with(2, 1000), way::zygote);
    s.python("open('old', 'w')");
    s.python("pass");
    std::filesystem::rename(s.workspace(), s.folder.path / "away");
    CHECK(text(s.python("import os\nprint(os.listdir())"), "output") == "[]\n");
}

TEST_CASE("the time limits of a run by way of the zygote are its own")
{
    if (!built()) return;
    system_stage s(all_programs(), way::zygote);
    CHECK(s.python("print(1)").at("success") == true);
    CHECK(text(s.python("while True: pass", {{"timeout", 0.5}}), "cause") == "timeout");
    const std::string limit = "import resource\nprint(resource.getrlimit(resource.RLIMIT_CPU))";
    CHECK(text(s.python(limit, {{"timeout", 3}}), "output") == "(6, 7)\n");
    CHECK(text(s.python(limit, {{"timeout", 9}}), "output") == "(18, 19)\n");
}

TEST_CASE("a working folder that is not there is refused alike")
{
    system_stage s(all_programs(), GENERATE(from_range(ways())));
    s.python("import os\nos.mkdir('inner')");
    CHECK(text(s.python("import os\nprint(os.getcwd())", {{"working_dir", "inner"}}), "output") ==
          "/app/results/inner\n");
}

TEST_CASE("what the interpreter holds does not count against the memory of a run")
{
    if (!built()) return;
    settings small = all_programs();
    small.python_memory_limit = 48ull << 20;
    system_stage s(small, way::zygote);
    CHECK(s.python("x = bytearray(b'x') * (30 << 20)\nprint(len(x))").at("success") == true);
    const auto result = s.python("x = [bytearray(b'x' * (1 << 20)) for _ in range(200)]");
    CHECK(result.at("success") == false);
}

TEST_CASE("runs by way of the zygote at once do not mix")
{
    if (!built()) return;
    system_stage s(all_programs(), way::zygote);
    constexpr int many = 24;
    std::vector<std::string> printed(many);
    int left = many;
    for (int i = 0; i < many; ++i) {
        auto work = s.start("system_run_python", {{"code", "print(" + std::to_string(i) + ")"}});
        asio::co_spawn(s.io, std::move(work), [&printed, &left, i](std::exception_ptr failure, tool_result result) {
            if (!failure) printed[static_cast<std::size_t>(i)] = text(result.structured, "output");
            --left;
        });
    }
    s.io.restart();
    while (left != 0 && s.io.run_one() != 0) {
    }
    for (int i = 0; i < many; ++i) CHECK(printed[static_cast<std::size_t>(i)] == std::to_string(i) + "\n");
}

TEST_CASE("a zygote that was killed is replaced, and runs go on meanwhile")
{
    if (!built()) return;
    system_stage s(with(0, 1000), way::zygote);
    s.python("pass");
    const pid_t zygote = child_named("python3", s.backend.launcher_pid());
    REQUIRE(zygote > 0);
    REQUIRE(zygote > 0);
    REQUIRE(::kill(zygote, SIGKILL) == 0);
    bool prepared = false;
    for (int i = 0; i < 300 && !prepared; ++i) {
        const auto result = s.call("system_run_python", {{"code", "print(6 * 7)"}}).structured;
        CHECK(text(result, "output") == "42\n");
        prepared = result.contains("prepared") && child_named("python3", s.backend.launcher_pid()) != zygote;
    }
    CHECK(prepared);
}

TEST_CASE("a cancelled run of the zygote ends with all its processes, and the next one runs")
{
    if (!built()) return;
    system_stage s(all_programs(), way::zygote);
    const std::string code = "import os, time\nos.fork()\nopen('begun', 'w')\ntime.sleep(60)";
    asio::cancellation_signal stop;
    bool ended = false;
    auto work = s.start("system_run_python", {{"code", code}});
    asio::co_spawn(s.io, std::move(work),
                   asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr failure, tool_result) {
                       CHECK(failure);
                       ended = true;
                   }));
    s.io.restart();
    while (!std::filesystem::exists(s.workspace() / "begun")) s.io.poll();
    stop.emit(asio::cancellation_type::terminal);
    while (!ended && s.io.run_one() != 0) {
    }
    CHECK(ended);
    CHECK(text(s.python("print(1)"), "output") == "1\n");
}

TEST_CASE("a zygote that cannot be started leaves cold runs and a reason")
{
    settings config = all_programs();
    asio::io_context io;
    auto options = launcher_under_test(config, true);
    options.launcher.zygote->path = "/nonexistent/container-mcp-zygote";
    sandbox::native_backend backend(io.get_executor(), options);
    CHECK_FALSE(run_coroutine(io, backend.zygote_settles()));
    const auto layers = run_coroutine(io, backend.probe());
    CHECK(layers.back().name == "python_zygote");
    CHECK(layers.back().is == sandbox::layer::state::off);
    CHECK(layers.back().detail.find("/nonexistent/container-mcp-zygote") != std::string::npos);
}

TEST_CASE("another interpreter than the zygote's is not stood in for")
{
    if (!built()) return;
    settings config = all_programs();
    config.python_interpreter = "/usr/bin/perl";
    asio::io_context io;
    sandbox::native_backend backend(io.get_executor(), launcher_under_test(config, true));
    CHECK_FALSE(run_coroutine(io, backend.zygote_settles()));
    CHECK(backend.zygote_now().detail.find("PYTHON_INTERPRETER=/usr/bin/perl") != std::string::npos);
}

TEST_CASE("the layers of the zygote's runs are those of a cold run")
{
    if (!built()) return;
    system_stage s(all_programs(), way::zygote);
    run_coroutine(s.io, s.backend.probe());  // both kinds are probed
    const auto layers = run_coroutine(s.io, s.backend.probe());
    INFO(layers.back().detail);
    CHECK(layers.back().is == sandbox::layer::state::on);
    CHECK(layers.back().detail.find("its runs have the layers of a cold run") != std::string::npos);
}

TEST_CASE(
    "with PYTHON_ZYGOTE=auto, code that names a library for data meets an interpreter that has it, and other code does "
    "not")
{
    if (!built()) return;
    settings config = with(1, 1000);
    config.python_zygote = "auto";
    system_stage s(config, way::zygote);
    const std::string known = "import sys\nprint('num' + 'py' in sys.modules)";
    if (text(s.python("import numpy"), "error").find("ModuleNotFoundError") != std::string::npos) return;
    constexpr int most_tries = 1000;  // the plain interpreter serves until the one with libraries is loaded
    int tries = 0;
    while (text(s.python("# numpy\n" + known), "output") != "True\n" && ++tries < most_tries) {
    }
    CHECK(tries < most_tries);
    CHECK(text(s.python(known), "output") == "False\n");
}
