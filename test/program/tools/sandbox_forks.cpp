#include "test/program/tools/sandbox_support.hpp"

#include "config/settings.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

/// A sandbox with a kernel, and its forks.
struct fork_stage : kernel_stage {
    using kernel_stage::kernel_stage;

    json::object fork_it() { return tool("fork_sandbox", {{"sandbox_id", id}}); }
    json::object keep_in(const json::object& copy, std::string code)
    {
        return tool("execute_python_code",
                    {{"sandbox_id", text(copy, "sandbox_id")}, {"code", code}, {"stateful", true}});
    }
};

const json::object& kernel(const json::object& copy) { return copy.at("kernel").as_object(); }

std::vector<std::string> left_out(const json::object& copy)
{
    std::vector<std::string> all;
    for (const auto& one : kernel(copy).at("not_copied").as_array())
        all.emplace_back(one.as_object().at("name").as_string());
    return all;
}

}  // namespace

TEST_CASE("a fork's kernel has the variables, imports, functions and classes of the old one and goes its own way")
{
    fork_stage s;
    s.keep(R"(
import math, xml.etree.ElementTree, functools
x = [1]; same = x
def f(a):
    return a + len(x)
def counter():
    n = 0
    def up():
        nonlocal n
        n += 1
        return n
    return up, lambda: n
up, count = counter()
up()
class Base:
    kept = 'class'
    __slots__ = ('own', '__hidden')
    def __init__(self, value): self.own = self.__hidden = value
    @property
    def hidden(self): return self.__hidden
class Child(Base):
    def __init__(self, value):
        super().__init__(value)
        self.me = self
child = Child(5)
@functools.lru_cache
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
square = lambda v: v * v
)");
    const auto copy = s.fork_it();
    CHECK(kernel(copy).at("copied") == true);
    CHECK(left_out(copy).empty());
    const auto there = [&](std::string code) { return s.keep_in(copy, std::move(code)).at("result"); };
    CHECK(there("math.floor(2.5) + f(1) + square(3)") == 13);
    CHECK(there("xml.etree.ElementTree.fromstring('<a/>').tag") == "a");
    CHECK(there("same is x") == true);
    CHECK(there("[up(), count()]") == json::array{2, 2});
    CHECK(there("child.me is child and isinstance(child, Child) and child.hidden + Child(2).own") == 7);
    CHECK(there("child.kept + str(fib(30))") == "class832040");
    CHECK(there("x.append(2); globals()['__name__'] + str(f(1))") == "__main__3");
    CHECK(s.keep("[f(1), count()]").at("result") == json::array{2, 1});
    CHECK(text(s.keep_in(copy, "square('a')"), "stderr").find("square = lambda v: v * v") != std::string::npos);
}

TEST_CASE("enumerations, data classes, named tuples and generic and abstract classes are the same after a fork")
{
    fork_stage s;
    s.keep(R"(
import abc, collections, dataclasses, enum, typing
class Colour(enum.Enum):
    RED = 1
    def low(self): return self.name.lower()
colour = Colour.RED
@dataclasses.dataclass
class Data:
    n: int
    many: list = dataclasses.field(default_factory=list)
data = Data(1)
Pair = collections.namedtuple('Pair', 'a b')
class Typed(typing.NamedTuple):
    i: int = 3
T = typing.TypeVar('T')
class Box(typing.Generic[T]):
    pass
class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...
)");
    const auto copy = s.fork_it();
    CHECK(left_out(copy).empty());
    const auto there = [&](std::string code) { return s.keep_in(copy, std::move(code)).at("result"); };
    CHECK(there("colour is Colour.RED and colour.low()") == "red");
    CHECK(there("data == Data(1) and dataclasses.replace(data, n=2).n") == 2);
    CHECK(there("repr((Pair(1, 2)._replace(a=5), Typed(), Box[int]))") ==
          "(Pair(a=5, b=2), Typed(i=3), __main__.Box[int])");
    CHECK(text(s.keep_in(copy, "Shape()"), "stderr").find("abstract") != std::string::npos);
}

TEST_CASE("what cannot be copied is named with its reason, stays where it was, and takes nothing else along")
{
    fork_stage s;
    s.keep(R"(
import threading
class Odd:
    def __reduce__(self): return int, ('no number',)
keep = 1; file = open('a.txt', 'w'); numbers = (i for i in range(3)); held = [threading.Lock()]; odd = Odd(); last = 2
)");
    const auto copy = s.fork_it();
    CHECK(left_out(copy) == std::vector<std::string>{"file", "numbers", "held", "odd"});
    const auto& first = kernel(copy).at("not_copied").as_array().at(0).as_object();
    CHECK(text(first, "reason").find("cannot pickle") != std::string::npos);
    CHECK(s.keep_in(copy, "[keep, last, 'file' in globals(), Odd.__name__]").at("result") ==
          json::array{1, 2, false, "Odd"});
    CHECK(s.keep("[file.write('x'), next(numbers), held[0].locked()]").at("result") == json::array{1, 0, false});
}

TEST_CASE("a sandbox without a kernel is copied without one")
{
    fork_stage s;
    const auto copy = s.fork_it();
    CHECK(kernel(copy).at("copied") == false);
    CHECK(text(kernel(copy), "note").find("no Python kernel") != std::string::npos);
    CHECK(s.keep_in(copy, "1 + 1").at("result") == 2);
}

TEST_CASE("a fork waits for the code that runs and has its variables and its files")
{
    fork_stage s;
    s.keep("x = 0");
    const auto job =
        text(s.keep("import time\nprint('up')\nwhile not __import__('os').path.exists('go'): time.sleep(0.01)\n"
                    "open('made', 'w').write('1')\nx = 7",
                    {{"run_in_background", true}}),
             "job_id");
    s.tool("job_poll", {{"job_id", job}, {"wait", 30}});
    const auto other =
        text(s.tool("execute_terminal_command",
                    {{"sandbox_id", s.id}, {"command", "sleep 0.3; touch go"}, {"run_in_background", true}}),
             "job_id");
    const auto copy = s.fork_it();
    CHECK(s.keep_in(copy, "[x, open('made').read()]").at("result") == json::array{7, "1"});
    s.tool("job_poll", {{"job_id", other}, {"wait", 30}});
}

TEST_CASE("a state larger than half of a kernel's memory is copied: it is nowhere twice")
{
    settings config = all_programs();
    config.kernel_memory_limit = 300 << 20;
    fork_stage s(config);
    s.keep("import hashlib\nbig = bytearray(b'0123456789') * 20_000_000\ntext = bytes(1000)");
    const auto copy = s.fork_it();
    CHECK(kernel(copy).at("copied") == true);
    CHECK(kernel(copy).at("bytes").to_number<std::uint64_t>() >= 200'000'000);
    const std::string digest = "(len(big), hashlib.sha256(big).hexdigest())";
    CHECK(s.keep_in(copy, digest).at("result") == s.keep(digest).at("result"));
}

TEST_CASE("variables that kill or hold up the copying leave a sandbox with the files, and the old kernel lives")
{
    settings config = all_programs();
    config.python_timeout_max = std::chrono::seconds(2);
    fork_stage s(config);
    SECTION("made again")
    {
        s.keep("import os\nx = 1\nclass Deadly:\n    def __reduce__(self): return os._exit, (3,)\ndeadly = Deadly()");
        const auto copy = s.fork_it();
        CHECK(kernel(copy).at("copied") == false);
        CHECK(text(kernel(copy), "note").find("ended while it took the state") != std::string::npos);
        CHECK(s.keep_in(copy, "'x' in globals()").at("result") == false);
    }
    SECTION("read")
    {
        s.keep(
            "import time\nx = 1\nclass Slow:\n    def __reduce__(self): print('noise'); time.sleep(1000)\nslow = "
            "Slow()");
        const auto copy = s.fork_it();
        CHECK(text(kernel(copy), "note").find("took too long") != std::string::npos);
        CHECK(s.keep_in(copy, "'x' in globals()").at("result") == false);
    }
    const auto after = s.keep("x");
    CHECK(after.at("result") == 1);
    CHECK(text(after, "stdout").empty());
}

TEST_CASE("open figures, the current one among them, come along with a fork")
{
    fork_stage s;
    if (s.keep("import matplotlib.pyplot as plt, numpy as np").at("exit_code") != 0) {
        WARN("not tested: matplotlib is not installed");
        return;
    }
    s.keep(
        "%config InlineBackend.close_figures = False\n"
        "fig, axes = plt.subplots()\naxes.plot([1, 2, 3])\nplt.figure(7)\nplt.figure(1)\nnp.random.seed(3)\n"
        "data = np.arange(10.0).reshape(2, 5)");
    const auto copy = s.fork_it();
    CHECK(kernel(copy).at("figures") == 2);
    const std::string look =
        "[plt.get_fignums(), plt.gcf() is fig, axes.figure is fig, len(axes.lines), float(data.sum()) + "
        "float(np.random.rand())]";
    const auto there = s.keep_in(copy, look).at("result");
    CHECK(there.as_array().at(0) == json::array{1, 7});
    CHECK(there == s.keep(look).at("result"));
    CHECK(strings(s.keep_in(copy, "plt.subplots()\ndata[0, 0] = 5\nplt.show()"), "files") ==
          std::vector<std::string>{"plot-2.png"});
}

TEST_CASE("nobody forks another's sandbox")
{
    fork_stage s;
    s.keep("secret = 1");
    CHECK(text(s.as("bob", "fork_sandbox", {{"sandbox_id", s.id}}), "error_type") == "NotFound");
}
