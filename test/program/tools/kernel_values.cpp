#include "jsonrpc/write_json.hpp"
#include "test/program/tools/sandbox_support.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

bool mentions(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string late_text(const json::object& result)
{
    return result.contains("late_output") ? text(result, "late_output") : std::string();
}

}  // namespace

TEST_CASE("the marks of a cell's traceback stand below what failed, whatever ends its lines")
{
    kernel_stage s;
    for (const char* code : {"1/0", "1/0\n\n", "x = 1\n1/0", "x = 'a\u2028b'\n1/0", "x = 1\n\f\n1/0"}) {
        INFO(code);
        CHECK(mentions(text(s.keep(code), "stderr"), "    1/0\n    ~^~\n"));
    }
}

TEST_CASE("a kernel's value comes back as it is, or as its repr, which is said")
{
    kernel_stage s;
    const std::pair<const char*, const char*> values[] = {
        {"[19473.026690553546, 2.0, -0.0, 2]", "[19473.026690553546,2.0,-0.0,2]"},
        {"2**64 - 1", "18446744073709551615"},
        {"{'a': [None, True, 'x']}", R"({"a":[null,true,"x"]})"},
        {"'5'", R"("5")"}};
    for (const auto& [code, written] : values) {
        const auto result = s.keep(code);
        CHECK(jsonrpc::write_json(result.at("result")) == written);
        CHECK_FALSE(result.contains("result_is_repr"));
    }
    const std::pair<const char*, const char*> as_repr[] = {{"2**64", "18446744073709551616"},
                                                           {"{'n': 10**25}", "{'n': 10000000000000000000000000}"},
                                                           {"{1: 'int', '1': 'str'}", "{1: 'int', '1': 'str'}"},
                                                           {"(1, [2])", "(1, [2])"},
                                                           {"[float('inf')]", "[inf]"},
                                                           {"'caf\\udce9'", "'caf\\udce9'"},
                                                           {"b'x'", "b'x'"}};
    for (const auto& [code, shown] : as_repr) {
        const auto result = s.keep(code);
        CHECK(text(result, "result") == shown);
        CHECK(result.at("result_is_repr") == true);
    }
}

TEST_CASE("exit values of code in a kernel are those of a script")
{
    kernel_stage s;
    const std::pair<const char*, int> samples[] = {{"True", 1}, {"0", 0},    {"None", 0},
                                                   {"300", 44}, {"-1", 255}, {"2**80", 255}};
    for (const auto& [code, status] : samples) {
        const auto result = s.keep(std::string("import sys\nsys.exit(") + code + ")");
        CHECK(result.at("exit_code") == status);
        CHECK(result.at("success") == (status == 0));
    }
    const auto failed = s.keep(
        "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.fail()\nunittest.main(argv=['t'])");
    CHECK(failed.at("exit_code") == 1);
    CHECK(failed.at("success") == false);
}

TEST_CASE("what code prints after its call comes with the next one, the last 64 KiB of it")
{
    kernel_stage s;
    s.keep(
        "import os, threading, time\n"
        "def work():\n"
        "    while not os.path.exists('go'): time.sleep(0.01)\n"
        "    print('early ' + 'x' * 400_000)\n"
        "    print('done', flush=True)\n"
        "    os.mkdir('printed')\n"
        "thread = threading.Thread(target=work)\nthread.start()");
    s.shell_in(s.id, "touch go; while [ ! -d printed ]; do sleep 0.01; done");
    const auto result = s.keep("thread.join()\nprint('own')");
    const auto late = late_text(result);
    CHECK(mentions(late + text(result, "stdout"), "done\n"));
    CHECK(mentions(text(result, "stdout"), "own\n"));
    CHECK(mentions(late, " bytes before this were dropped]\n"));
    CHECK(late.size() < 70'000);
    CHECK_FALSE(s.keep("1").contains("late_output"));
}

TEST_CASE("an interrupt reaches the processes of the code, and names those that it does not end")
{
    kernel_stage s;
    s.keep("kept = 5\nimport os, subprocess, sys, signal");
    auto result = s.keep("child = subprocess.Popen(['sleep', '1000'])\nchild.wait()", {{"timeout", 1}});
    CHECK(text(result, "cause") == "timeout");
    CHECK(s.keep("child.wait()").at("result") == -2);
    result = s.keep("os.system('sleep 1000')\nimport time\ntime.sleep(1000)", {{"timeout", 1}});
    CHECK(text(result, "cause") == "timeout");
    const std::string deaf =
        "child = subprocess.Popen([sys.executable, '-c', 'import signal, time\\nsignal.signal(signal.SIGINT, "
        "signal.SIG_IGN)\\nprint(1, flush=True)\\ntime.sleep(1000)'], stdout=subprocess.PIPE)\n"
        "child.stdout.read(1)\nchild.wait()";
    result = s.keep(deaf, {{"timeout", 3}});
    CHECK(s.keep("child.wait()").at("result") == -9);
    result =
        s.keep("child = subprocess.Popen(['sleep', '1000'], start_new_session=True)\nchild.wait()", {{"timeout", 1}});
    CHECK(mentions(text(result, "note"), "sleep 1000"));
    CHECK(s.keep("child.kill()\nkept").at("result") == 5);
}

TEST_CASE("a kernel whose code closes all descriptors says why it ends, and the next call has a new one")
{
    kernel_stage s;
    s.keep("x = 1\nimport os\nos.closerange(3, 100)\nopen(b'caf\\xe9', 'w').close()");
    CHECK(s.keep("os.close(1)\nx").at("result") == 1);
    CHECK(mentions(text(s.keep("os.listdir()"), "result"), "caf\\udce9"));
    CHECK(text(s.keep("print('on')"), "stdout") == "on\n");
    const auto ended = s.keep("os.closerange(3, 5000)\nx");
    CHECK(mentions(text(ended, "stderr"), "closed the descriptor"));
    CHECK(mentions(text(ended, "kernel"), "variables are lost"));
    CHECK(s.keep("'x' in globals()").at("result") == false);
}

TEST_CASE("a kernel that ends between two calls is told by the next one")
{
    kernel_stage s;
    s.keep(
        "import os, threading, time\n"
        "def end():\n"
        "    while not os.path.exists('go'): time.sleep(0.01)\n"
        "    print('last words', flush=True)\n"
        "    os._exit(3)\n"
        "threading.Thread(target=end).start()");
    s.shell_in(s.id, "touch go");
    std::string note;
    for (int i = 0; i < 1000 && note.empty(); ++i) {
        const auto result = s.keep("open('go').close()");
        if (result.contains("note")) note = text(result, "note");
        if (result.contains("kernel")) note = text(result, "kernel");
    }
    CHECK(mentions(note, "exit code 3"));
}
