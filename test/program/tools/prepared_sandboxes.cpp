#include "config/settings.hpp"
#include "test/program/tools/prepared_support.hpp"
#include "test/program/tools/sandbox_support.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

// Only runs in sandboxes have a home with packages and a PATH.
const char* const programs_at_home[] = {
    "import os, site, sysconfig\nprint(site.USER_BASE, site.USER_SITE, site.ENABLE_USER_SITE, "
    "site.getusersitepackages())\n"
    "print(os.path.expanduser('~'), sysconfig.get_config_var('userbase'), sysconfig.get_paths('posix_user'))",
    "import subprocess, sys\nprint(subprocess._args_from_interpreter_flags(), hasattr(sys, '__interactivehook__'))",
    "import posix, os\nprint(posix.environ == os.environb, os.getenv('HOME'))\nos.system('echo $HOME $PATH "
    "$PYTHONSAFEPATH')",
    "import multiprocessing as m, sys\nif __name__ == '__main__':\n  with m.get_context('forkserver').Pool(1) as p: "
    "print(p.map(abs, [-3]))",
};

// Run times and names of sandboxes differ.
// A helper process of multiprocessing ends by itself a moment after its run, or a moment before, which the note tells.
json::object comparable_in_sandbox(json::object result)
{
    for (const char* name : {"files", "file_links", "output_uri", "output_path", "note"}) result.erase(name);
    return comparable(std::move(result));
}

constexpr const char* install = R"(
import os, site
os.makedirs(site.USER_SITE, exist_ok=True)
def put(name, text):
    path = os.path.join(site.USER_SITE, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as file: file.write(text)
)";

std::string installing(std::string_view more) { return std::string(install) + std::string(more); }

std::string printed(const json::object& result) { return text(result, "stdout"); }

}  // namespace

TEST_CASE("a run in a sandbox by way of the zygote gives what a cold run gives")
{
    if (!built()) return;
    sandbox_stage cold;
    sandbox_stage prepared(all_programs(), way::zygote);
    const std::string cold_id = cold.create(), prepared_id = prepared.create();
    const auto compare = [&](const char* code) {
        INFO(code);
        const auto result = prepared.python_in(prepared_id, code);
        CHECK(result.contains("prepared"));
        CHECK(json::serialize(comparable_in_sandbox(result)) ==
              json::serialize(comparable_in_sandbox(cold.python_in(cold_id, code))));
    };
    for (const char* code : programs) compare(code);
    for (const char* code : programs_at_home) compare(code);
}

TEST_CASE("a prepared run in a sandbox has the sandbox's packages where Python looks for a user's own")
{
    const auto started = GENERATE(from_range(ways()));
    sandbox_stage s(all_programs(), started);
    const std::string id = s.create(), other = s.create();
    CHECK(
        s.python_in(
             id, installing("put('tinypkg/__init__.py', 'answer = 42')\n"
                            "put('more.pth', '/app/results/elsewhere\\nimport os; os.environ[\"BY_PTH\"] = \"1\"\\n')\n"
                            "put('usercustomize.py', 'import builtins; builtins.customized = True')\n"
                            "os.makedirs('elsewhere')\n"
                            "open('elsewhere/far.py', 'w').write('here = True')"))
            .at("success") == true);
    const auto result = s.python_in(id,
                                    "import sys, os, tinypkg, far\nprint(tinypkg.answer, far.here, "
                                    "os.environ['BY_PTH'], customized)\nprint(sys.path)");
    CHECK(result.contains("prepared") == (started == way::zygote));
    CHECK(printed(result).starts_with("42 True 1 True\n['"));
    const auto path = printed(result);
    CHECK(path.find("lib-dynload") < path.find("/app/results/.local"));
    CHECK(path.find("/app/results/.local") < path.find("/app/results/elsewhere"));
    CHECK(path.find("/app/results/elsewhere") < path.find("dist-packages"));
    CHECK(text(s.python_in(other, "import tinypkg"), "stderr").find("ModuleNotFoundError") != std::string::npos);
    CHECK(text(s.python("import tinypkg"), "error").find("ModuleNotFoundError") != std::string::npos);
}

TEST_CASE("packages of a sandbox count, whatever the zygote has loaded")
{
    const auto started = GENERATE(from_range(ways()));
    sandbox_stage s(all_programs(), started);
    const std::string id = s.create();
    s.python_in(id, installing("put('bs4/__init__.py', 'own = True')"));
    const auto result = s.python_in(id, "import bs4\nprint(bs4.own)");
    CHECK(printed(result) == "True\n");
    CHECK(result.contains("prepared") == (started == way::zygote));
    s.python_in(id, "import shutil, site\nshutil.rmtree(site.USER_SITE)\n");
    s.python_in(id, installing("os.makedirs('/app/results/by_path/bs4')\nput('one.pth', '/app/results/by_path')\n"
                               "open('/app/results/by_path/bs4/__init__.py', 'w').write('own = 2')"));
    CHECK(printed(s.python_in(id, "import bs4\nprint(bs4.own)")) == "2\n");
}

TEST_CASE("a compiled package that is loaded already gives way to the sandbox's own by a cold start")
{
    if (!built()) return;
    sandbox_stage s(all_programs(), way::zygote);
    const std::string id = s.create();
    if (printed(s.python_in(id, "import sys\nprint('lxml.etree' in sys.modules)")) != "True\n") return;
    s.python_in(id, installing("put('lxml/__init__.py', 'own = True')"));
    const auto result = s.python_in(id, "import lxml, sys\nprint(lxml.own, 'lxml.etree' in sys.modules)");
    CHECK(printed(result) == "True False\n");
    CHECK_FALSE(result.contains("prepared"));
    CHECK(s.python_in(s.create(), "pass").contains("prepared"));
}

TEST_CASE("what a loaded module looked for in vain is found where a sandbox has it")
{
    if (!built()) return;
    sandbox_stage s(all_programs(), way::zygote);
    const std::string id = s.create();
    const std::string look = "import sys\nprint('bs4' in sys.modules and 'html5lib' not in sys.modules)";
    if (printed(s.python_in(id, look)) != "True\n") return;
    s.python_in(id, installing("put('html5lib.py', '')"));
    CHECK(printed(s.python_in(id, look)) == "False\n");
}

TEST_CASE("prepared runs in sandboxes, the default one among them, are in nobody else's place, home or environment")
{
    if (!built()) return;
    sandbox_stage s(with(1, 1000), way::zygote);
    const std::string first = s.create(), second = s.create();
    const std::string look =
        "import os, sys\nprint(os.environ['HOME'], os.getcwd(), 'NODE_PATH' in os.environ, sys.flags.isolated,"
        " sorted(os.listdir()), os.environ.get('SECRET'))\nos.environ['SECRET'] = os.getcwd()\n";
    s.python_in(first, "open('of_first', 'w')");
    s.python_in(second, "open('of_second', 'w')");
    for (int i = 0; i < 4; ++i) {
        CHECK(printed(s.python_in(first, look)) == "/app/results /app/results True 0 ['of_first'] None\n");
        CHECK(text(s.python(look), "output") == "/app/results /app/results False 0 [] None\n");
        CHECK(printed(s.python_in(second, look)) == "/app/results /app/results True 0 ['of_second'] None\n");
        CHECK(s.last.structured.contains("prepared"));
    }
}

TEST_CASE("many sandboxes in turn are each served by the zygote")
{
    if (!built()) return;
    sandbox_stage s(all_programs(), way::zygote);
    std::vector<std::string> ids;
    for (int i = 0; i < 7; ++i) ids.push_back(s.create());
    for (int i = 0; i < 3; ++i)
        for (const auto& id : ids) {
            const auto result =
                s.python_in(id, "import os\nopen('mine', 'a').write('x')\nprint(os.path.getsize('mine'))");
            CHECK(printed(result) == std::to_string(i + 1) + "\n");
            CHECK(result.contains("prepared"));
        }
}

TEST_CASE("a prepared run in a sandbox ends for the causes of a cold one")
{
    if (!built()) return;
    sandbox_stage s(all_programs(), way::zygote);
    const std::string id = s.create();
    const auto late =
        s.tool("execute_python_code", {{"sandbox_id", id}, {"code", "while True: pass"}, {"timeout", 0.5}});
    CHECK(text(late, "cause") == "timeout");
    CHECK(late.contains("prepared"));
    const auto many = s.python_in(id, "import os, time\nwhile os.fork() or time.sleep(60): pass");
    CHECK(json::serialize(many.at("denied")).find("fork: the limit of") != std::string::npos);
    CHECK(many.contains("prepared"));
    const auto result = s.python_in(id, "x = [bytearray(b'x' * (1 << 20)) for _ in range(1 << 20)]");
    CHECK(result.at("success") == false);
    CHECK(result.contains("prepared"));
}

TEST_CASE("standard output and errors of execute_code are one stream, in their order")
{
    const auto started = GENERATE(from_range(ways()));
    sandbox_stage s(all_programs(), started);
    s.tool("initialize_sandbox");
    const auto result = s.tool(
        "execute_code", {{"code",
                          "import os, sys\nfor i in range(4): print(i, file=(sys.stdout, sys.stderr)[i % 2])\n"
                          "os.system('echo 4; echo 5 >&2')\nprint(os.path.samestat(os.fstat(1), os.fstat(2)))"}});
    CHECK(text(result, "output") == "0\n1\n2\n3\n4\n5\nTrue\n");
    CHECK(result.contains("prepared") == (started == way::zygote));
    const auto shell = s.tool("execute_code", {{"code", "echo 1; echo 2 >&2; echo 3"}, {"language", "bash"}});
    CHECK(text(shell, "output") == "1\n2\n3\n");
}

TEST_CASE("figures that are shown in a sandbox become files, also where matplotlib is loaded already")
{
    const auto started = GENERATE(from_range(ways()));
    settings config = all_programs();
    config.python_zygote = GENERATE("stdlib", "data");
    sandbox_stage s(config, started);
    const std::string id = s.create();
    if (text(s.python_in(id, "import matplotlib"), "stderr").find("ModuleNotFoundError") != std::string::npos) return;
    const std::string draw =
        "import matplotlib.pyplot as plt\nplt.plot([1, "
        "2])\nplt.show()\nplt.figure()\nplt.savefig('own.png')\nplt.show()";
    CHECK(text(s.python_in(id, draw), "stderr").empty());
    CHECK(fs::exists(s.files_of(id) / "plot-1.png"));
    CHECK(fs::exists(s.files_of(id) / "own.png"));
    CHECK_FALSE(fs::exists(s.files_of(id) / "plot-2.png"));
    s.python("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()");
    CHECK(fs::exists(s.workspace() / "plot-1.png"));
}

TEST_CASE("a script that a command starts shows its figures as the code of a call does")
{
    sandbox_stage s(all_programs());
    const bool draws = s.bash("python3 -c 'import matplotlib'").at("exit_code") == 0;
    put_text(s.workspace() / "main.py",
             draws ? "from matplotlib import pyplot\npyplot.plot([1, 2])\npyplot.show()\npyplot.figure()\n"
                     "pyplot.savefig('own.png')\npyplot.show()\n"
                   : "import webbrowser\nwebbrowser.open('about:blank')\nopen('plot-1.png', 'wb').write(b'PNG')\n"
                     "open('own.png', 'wb').write(b'PNG')\n");
    for (const char* tool : {"system_run_command", "execute_terminal_command"}) {
        CAPTURE(tool);
        for (const char* name : {"plot-1.png", "own.png"}) fs::remove(s.workspace() / name);
        const auto ran = s.tool(tool, {{"command", "python3 main.py"}});
        CHECK(ran.at("files") == json::value{"own.png", "plot-1.png"});
        CHECK(s.last.content.size() == 2);
        CHECK_FALSE(draws == (text(ran, "stderr").find("No browser is here") != std::string::npos));
    }
    s.tool("system_run_command", {{"command", "echo one > a.txt"}});
    CHECK_FALSE(s.last.structured.contains("files"));
    const auto begun = s.tool("system_run_command", {{"command", "python3 main.py"}, {"run_in_background", true}});
    s.tool("job_poll", {{"job_id", text(begun, "job_id")}, {"until", "end"}});
    CHECK(s.last.content.size() == 2);
}
