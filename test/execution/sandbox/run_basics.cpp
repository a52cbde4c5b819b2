#include "test/execution/sandbox/run_support.hpp"

#include <signal.h>

#include <filesystem>
#include <fstream>

namespace cmcp::sandbox::test {

TEST_CASE("a run's output and exit code come back", "[run]")
{
    stage s;
    const auto result = s.run(s.bash("echo hello; exit 7"));
    CHECK(s.output.out == "hello\n");
    CHECK(result.why == cause::exited);
    CHECK(result.exit_code == 7);
    CHECK(result.signal == 0);
    CHECK(result.wall.count() > 0);
    CHECK(result.peak_memory > 0);
}

TEST_CASE("Python runs", "[run]")
{
    stage s;
    const auto result = s.run(s.python("import os, json; print(json.dumps([os.getcwd(), os.getuid()]))"));
    CHECK(s.output.out == "[\"" + s.inside + "\", " + user_inside() + "]\n");
    CHECK(result.exit_code == 0);
}

TEST_CASE("standard output and standard error are kept apart", "[run]")
{
    stage s;
    s.run(s.bash("echo out; echo err >&2; echo again > /dev/stdout; echo fault > /dev/stderr"));
    CHECK(s.output.out == "out\nagain\n");
    CHECK(s.output.err == "err\nfault\n");
}

TEST_CASE("a signal is reported as a shell reports it", "[run]")
{
    stage s;
    const auto result = s.run(s.bash("kill -SEGV $$"));
    CHECK(result.why == cause::signalled);
    CHECK(result.signal == SIGSEGV);
    CHECK(result.exit_code == 128 + SIGSEGV);
}

TEST_CASE("standard input is what the request says, and empty otherwise", "[run]")
{
    stage s;
    auto fed = s.bash("cat");
    fed.input = "line\n";
    s.run(std::move(fed));
    CHECK(s.output.out == "line\n");
    const auto result = s.run(s.bash("cat; echo end"));
    CHECK(s.output.out == "end\n");
    CHECK(result.exit_code == 0);
}

TEST_CASE("a script of any size arrives as descriptor 3", "[run]")
{
    stage s;
    auto wanted = s.request({"/usr/bin/python3", "/dev/fd/3"});
    wanted.script = "print('started')\n#" + std::string(3 << 20, 'x') + "\nprint('ended')\n";
    s.run(std::move(wanted));
    CHECK(s.output.out == "started\nended\n");
}

TEST_CASE("code that is longer than a packet arrives whole", "[run]")
{
    stage s;
    const auto result = s.run(s.bash("# " + std::string(100'000, 'x') + "\necho long"));
    CHECK(s.output.out == "long\n");
    CHECK(result.exit_code == 0);
}

TEST_CASE("what is written to descriptor 4 becomes the result", "[run]")
{
    stage s;
    auto wanted = s.bash("printf 42 >&4; echo printed");
    wanted.result_channel = true;
    const auto result = s.run(std::move(wanted));
    CHECK(result.result == "42");
    CHECK(s.output.out == "printed\n");
}

TEST_CASE("no other descriptors are open in a run", "[run]")
{
    stage s;
    s.run(s.bash("ls /proc/self/fd | wc -l"));
    CHECK(s.output.out == "4\n");  // 0, 1, 2 and the folder that ls reads
}

TEST_CASE("the environment is the fixed small one and what the request adds", "[run]")
{
    stage s;
    auto wanted = s.request({"/usr/bin/env"});
    wanted.environment = {{"LANG", "C"}, {"COLOR", "blue"}};
    s.run(std::move(wanted));
    CHECK(s.output.out == std::string("PATH=") + usual_path + "\nHOME=" + s.inside +
                              "\nLANG=C\nTERM=dumb\nUSER=sandbox\n"
                              "LOGNAME=sandbox\nCOLOR=blue\n");
}

TEST_CASE("the workspace is shared with the host and belongs to its owner there", "[run]")
{
    stage s;
    std::ofstream(s.workspace.path + "/in.txt") << "from outside";
    s.run(s.bash("cat in.txt; echo inside > out.txt; mkdir sub; stat -c %u in.txt out.txt"));
    CHECK(s.output.out == "from outside" + user_inside() + "\n" + user_inside() + "\n");
    std::ifstream written(s.workspace.path + "/out.txt");
    std::string line;
    std::getline(written, line);
    CHECK(line == "inside");
    struct stat folder {
    }, file{};
    REQUIRE(::stat(s.workspace.path.c_str(), &folder) == 0);
    REQUIRE(::stat((s.workspace.path + "/out.txt").c_str(), &file) == 0);
    CHECK(folder.st_uid == file.st_uid);
}

TEST_CASE("the working folder is the workspace unless the request names another", "[run]")
{
    stage s;
    s.run(s.bash("pwd; mkdir -p sub"));
    CHECK(s.output.out == s.inside + "\n");
    auto wanted = s.bash("pwd");
    wanted.working_dir = s.inside + "/sub";
    s.run(std::move(wanted));
    CHECK(s.output.out == s.inside + "/sub\n");
}

TEST_CASE("the workspace is mounted where the request says", "[run]")
{
    stage s;
    auto wanted = s.bash("pwd; touch here; echo $HOME");
    wanted.workspace_inside = "/app/results";
    s.run(std::move(wanted));
    const std::string folder = under_firejail() ? s.inside : "/app/results";
    CHECK(s.output.out == folder + "\n" + folder + "\n");
    CHECK(std::filesystem::exists(s.workspace.path + "/here"));
}

TEST_CASE("large output arrives whole", "[run]")
{
    stage s;
    s.run(s.bash("head -c 20000000 /dev/zero | tr '\\0' x"));
    CHECK(s.output.out.size() == 20'000'000);
}

TEST_CASE("a run finds its workspace by the name that it has inside", "[run]")
{
    stage s;
    std::filesystem::create_directory(s.workspace.path + "/deep");
    run_request request = s.bash("pwd; echo $PLACE; echo $1; echo x > $PLACE/made; cat $1/made");
    request.argv.insert(request.argv.end(), {"bash", "/workspace/deep"});
    request.working_dir = "/workspace/deep";
    request.environment.emplace_back("PLACE", "/workspace/deep");
    s.run(std::move(request));
    const std::string folder = s.inside + "/deep\n";
    CHECK(s.output.out == folder + folder + folder + "x\n");
    CHECK(std::filesystem::exists(s.workspace.path + "/deep/made"));
}

}  // namespace cmcp::sandbox::test
