#include "config/settings.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "test/program/tools/system_support.hpp"

#include <fstream>
#include <iostream>

using namespace cmcp;
using namespace cmcp::test;

TEST_CASE("a module that is not there is named with what brings it, at the end of the traceback")
{
    for (const bool sandboxes : {true, false}) {
        settings config = all_programs();
        config.enable_sandbox = sandboxes;
        system_stage s(std::move(config));
        const std::string error = text(s.python("import no_such_module"), "error");
        INFO(error);
        CHECK(error.find(
                  "ModuleNotFoundError: No module named 'no_such_module'\nThere is no module no_such_module here: ") !=
              std::string::npos);
        CHECK((error.find("install_packages_in_sandbox") != std::string::npos) == sandboxes);
    }
    system_stage s;
    CHECK(text(s.python("try:\n    import no_such_module\nexcept ImportError:\n    print('fine')"), "error").empty());
}

TEST_CASE("Python code runs as a script does")
{
    system_stage s(all_programs(), GENERATE(from_range(ways())));
    const auto result = s.python(R"(
import sys
def fact(n):
    import math
    assert math.factorial(3) == 6
    return 1 if n < 2 else n * fact(n - 1)
class A: pass
if __name__ == "__main__":
    print(fact(5), len(sys.argv), sys.argv[0] == __file__, __spec__, sorted(n for n in globals() if not n.startswith('__')))
import pickle
assert type(pickle.loads(pickle.dumps(A()))) is A
)");
    INFO(json::serialize(result));
    CHECK(text(result, "output") == "120 1 True None ['A', 'fact', 'sys']\n");
    CHECK(text(result, "error").empty());
    CHECK(result.at("result").is_null());
    CHECK(result.at("success") == true);
}

TEST_CASE("matplotlib draws with default settings: its data and the fonts are there, and a folder for its cache")
{
    if (!std::filesystem::exists("/usr/lib/python3/dist-packages/matplotlib")) {
        std::cout << "not tested: the package python3-matplotlib is not installed\n";
        return;
    }
    settings config;
    config.python_zygote = "data";
    system_stage s(config, GENERATE(from_range(ways())));
    const auto result = s.python(
        "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.title('$\\\\alpha$ x')\n"
        "plt.savefig('plot.png')\nprint(plt.imread('plot.png').shape)");
    CHECK(text(result, "output") == "(480, 640, 4)\n");
    CHECK(text(result, "error").empty());
}

TEST_CASE("the variable _ is the result in JSON, or its repr")
{
    system_stage s(all_programs(), GENERATE(from_range(ways())));
    const auto value = [&](std::string code) { return json::serialize(s.python(std::move(code)).at("result")); };
    CHECK(value("_ = {'a': [1, 2.5, None, True, 'x']}") == R"({"a":[1,2.5E0,null,true,"x"]})");
    CHECK(value("_ = 2**64 - 1") == "18446744073709551615");
    CHECK(value("_ = 10**30") == "\"1000000000000000000000000000000\"");
    CHECK(value("_ = float('nan')") == "\"nan\"");
    CHECK(value("_ = [float('inf')]") == "\"[inf]\"");
    CHECK(value("_ = {1, 2}") == "\"{1, 2}\"");
    CHECK(value("_ = []; _.append(_)") == "\"[[...]]\"");
    CHECK(value("_ = '\\ud800'") == R"("'\\ud800'")");
    CHECK(value("class B:\n  def __repr__(self): raise ValueError\n_ = B()") ==
          "\"<B object, its repr() raised ValueError>\"");
    CHECK(value("_ = 1\nimport sys; sys.exit(2)") == "1");
    CHECK(value("_ = 1\nraise ValueError") == "1");
    CHECK(value("pass") == "null");
    CHECK(value("_ = 'x' * 5_000_000").size() < 200'000);
    CHECK(value("_ = []\nfor i in range(3000): _ = [_]").find("repr() raised RecursionError") != std::string::npos);
}

TEST_CASE("a result that is the repr of a value says so, and numbers come back as they are")
{
    system_stage s(all_programs(), GENERATE(from_range(ways())));
    for (const char* code : {"_ = (1, 2)", "_ = {1: 'a', '1': 'b'}", "_ = 10**30", "_ = [{'n': float('nan')}]",
                             "_ = {'name': 'caf\\udce9'}", "import decimal; _ = decimal.Decimal('1.10')"}) {
        INFO(code);
        const auto result = s.python(code);
        CHECK(result.at("result_is_repr") == true);
        CHECK(result.at("result").is_string());
    }
    const auto result = s.python("_ = [30287.565588657002, 2.0, -0.0, 1e300, 2, True, '2']");
    CHECK_FALSE(result.contains("result_is_repr"));
    const auto written = jsonrpc::write_json(result.at("result"));
    CHECK(written == R"([30287.565588657002,2.0,-0.0,1e+300,2,true,"2"])");
    CHECK(jsonrpc::write_json(*jsonrpc::read_value(written)) == written);
}

TEST_CASE("workers that are started anew find the functions of the code, and its file lies in the working folder")
{
    system_stage s(all_programs(), GENERATE(from_range(ways())));
    const auto result = s.python(R"(
import inspect, multiprocessing, os, pickle
class Point:
    def __init__(self, x): self.x = x
def double(point): return Point(2 * point.x)
if __name__ == '__main__':
    with multiprocessing.get_context('spawn').Pool(2) as pool:
        print([each.x for each in pool.map(double, map(Point, [1, 2]))])
    print(os.path.dirname(__file__) == os.getcwd(), 'self.x = x' in inspect.getsource(Point), inspect.getsource(double))
)");
    INFO(json::serialize(result));
    CHECK(text(result, "output") == "[2, 4]\nTrue True def double(point): return Point(2 * point.x)\n\n");
}

TEST_CASE("exit values are those that Python makes of the code of SystemExit")
{
    system_stage s(all_programs(), GENERATE(from_range(ways())));
    const std::pair<const char*, int> samples[] = {{"True", 1}, {"False", 0},    {"None", 0}, {"258", 2},
                                                   {"-1", 255}, {"10**30", 255}, {"1.0", 1},  {"'text'", 1}};
    for (const auto& [code, status] : samples) {
        INFO(code);
        const auto result = s.python(std::string("import sys\nsys.exit(") + code + ")");
        CHECK(result.at("exit_code") == status);
        CHECK(result.at("success") == (status == 0));
    }
}

TEST_CASE("a traceback shows the caller's lines and nothing of ours")
{
    system_stage s(all_programs(), GENERATE(from_range(ways())));
    const auto result = s.python("def f():\n    return 1 / 0\nprint('before')\nf()\n");
    CHECK(text(result, "output") == "before\n");
    CHECK(text(result, "error") ==
          "Traceback (most recent call last):\n"
          "  File \"<code>\", line 4, in <module>\n    f()\n"
          "  File \"<code>\", line 2, in f\n    return 1 / 0\n           ~~^~~\n"
          "ZeroDivisionError: division by zero\n");
    CHECK(result.at("exit_code") == 1);
    CHECK(result.at("success") == false);
    CHECK_FALSE(s.last.is_error);
}

TEST_CASE(
    "the marks of a traceback stand below what failed, also in a last line without its end and after odd line ends")
{
    system_stage s(all_programs(), GENERATE(from_range(ways())));
    const char* const marked = "    1/0\n    ~^~\n";
    for (const char* code : {"1/0", "1/0\n", "x = 1\n1/0", "x = 'a\u2028b'\n1/0", "x = 1\r\n1/0", "x = 1\n\f\n1/0"}) {
        INFO(code);
        CHECK(text(s.python(code), "error").find(marked) != std::string::npos);
    }
}

TEST_CASE("a syntax error points at the caller's line")
{
    system_stage s(all_programs(), GENERATE(from_range(ways())));
    const auto result = s.python("x = (\n");
    CHECK(text(result, "error").find("File \"<code>\", line 1\n    x = (\n") != std::string::npos);
    CHECK(text(result, "error").find("SyntaxError") != std::string::npos);
    CHECK(result.at("exit_code") == 1);
}

TEST_CASE("sys.exit keeps the output and gives the exit code")
{
    system_stage s(all_programs(), GENERATE(from_range(ways())));
    auto result = s.python("import sys\nprint('kept')\nsys.exit(4)");
    CHECK(text(result, "output") == "kept\n");
    CHECK(result.at("exit_code") == 4);
    result = s.python("import sys\nsys.exit('sorry')");
    CHECK(text(result, "error") == "sorry\n");
    CHECK(result.at("exit_code") == 1);
    CHECK(s.python("import sys\nsys.exit()").at("success") == true);
}

TEST_CASE("files of the working folder can be opened and imported, but stand in for no module")
{
    system_stage s(all_programs(), GENERATE(from_range(ways())));
    s.bash(
        "echo 'value = 42' > mine.py; echo 'raise SystemExit(9)' > json.py; cp json.py sitecustomize.py; echo text > "
        "a.txt");
    const auto result = s.python("import json, mine\nprint(open('a.txt').read(), json.dumps(mine.value))");
    CHECK(text(result, "output") == "text\n 42\n");
}

TEST_CASE("threads and processes of the code end as in a script")
{
    system_stage s(all_programs(), GENERATE(from_range(ways())));
    const auto result = s.python(R"(
import threading, time, multiprocessing
def square(x): return x * x
threading.Thread(target=lambda: (time.sleep(0.1), print('late'))).start()
with multiprocessing.get_context('fork').Pool(2) as pool: _ = pool.map(square, range(5))
)");
    INFO(json::serialize(result));
    CHECK(text(result, "output") == "late\n");
    CHECK(json::serialize(result.at("result")) == "[0,1,4,9,16]");
}

TEST_CASE("output that is hard to print does no harm")
{
    system_stage s(all_programs(), GENERATE(from_range(ways())));
    CHECK(text(s.python("print('\\ud800')"), "output") == "\\ud800\n");
    CHECK(text(s.python("import sys\nsys.stdout.buffer.write(b'\\xff')\nsys.stdout.flush()"), "output") ==
          "\xEF\xBF\xBD");
    CHECK(s.python("import sys\nprint(1)\nsys.stdout.close()\n_ = 2").at("result") == 2);
    CHECK(text(s.python("import os\nprint('a')\nos._exit(0)"), "output") == "a\n");
    CHECK(s.python(std::string(200'000, '(')).at("success") == false);
    CHECK(s.python("").at("success") == true);
    CHECK(s.python(std::string("x = 1\0", 6)).at("success") == false);
}

TEST_CASE("Python that takes too long is ended and what it printed is kept")
{
    system_stage s(all_programs(), GENERATE(from_range(ways())));
    const auto result = s.python("print('part', end='')\nwhile True: pass", {{"timeout", 1}});
    CHECK(text(result, "output") == "part");
    CHECK(text(result, "cause") == "timeout");
    CHECK(text(result, "error").find("Timed out after 1 s") == 0);
    CHECK(s.last.is_error);
}

TEST_CASE("Python that needs too much memory is told so")
{
    system_stage s(all_programs(), GENERATE(from_range(ways())));
    const auto result = s.python("x = []\nwhile True: x.append(bytearray(b'x' * (1 << 20)))");
    INFO(json::serialize(result));
    CHECK(result.at("success") == false);
    const bool blames_memory =
        text(result, "cause") == "memory_limit" || text(result, "error").find("MemoryError") != std::string::npos;
    CHECK(blames_memory);
}

TEST_CASE("lines are streamed without flush")
{
    system_stage s(all_programs(), GENERATE(from_range(ways())));
    s.python("import time\nfor i in range(3):\n    print(i)\n    time.sleep(0.1)");
    CHECK(s.progress.messages == std::vector<std::string>{"0\n", "1\n", "2\n"});
}

TEST_CASE("parts of lines are streamed, and lines of several processes are not torn")
{
    system_stage s(all_programs(), GENERATE(from_range(ways())));
    s.python("import time\nfor i in range(3):\n    print(i, end=' ')\n    time.sleep(0.1)");
    CHECK(s.progress.messages == std::vector<std::string>{"0 ", "1 ", "2 "});
    const auto result =
        s.python("import os\npids = [os.fork() for _ in range(2)]\nfor i in range(2000): print('x' * 50)\n");
    CHECK(text(result, "output").find("\n\n") == std::string::npos);
}

TEST_CASE("the print of the code is the print of Python")
{
    system_stage s(all_programs(), GENERATE(from_range(ways())));
    const auto result = s.python(R"(
import io, contextlib, pickle, sys
with contextlib.redirect_stdout(io.StringIO()) as text: print('a', 'b', sep='-', end='!')
print(text.getvalue(), pickle.loads(pickle.dumps(print)) is print)
print('err', file=sys.stderr)
try: print('x', end=5)
except TypeError as problem: print(problem)
)");
    CHECK(text(result, "output") == "a-b! True\nend must be None or a string, not int\n");
    CHECK(text(result, "error") == "err\n");
}

TEST_CASE("Python under an allow-list runs no other program")
{
    settings config;
    config.bash_allowed_commands = {"ls"};
    system_stage s(config, GENERATE(from_range(ways())));
    const auto result = s.python("import subprocess, sqlite3, ctypes, ssl, decimal\nsubprocess.run(['/usr/bin/id'])");
    INFO(json::serialize(result));
    CHECK(text(result, "output").empty());
    CHECK(text(result, "error").find("FileNotFoundError") != std::string::npos);
    CHECK(text(s.python("import subprocess\nsubprocess.run(['ls', '-d', '/tmp'])"), "output") == "/tmp\n");
}
