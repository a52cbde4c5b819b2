#include "test/execution/sandbox/run_support.hpp"

#include <filesystem>
#include <fstream>

// A folder of the server's owner that all runs read.
namespace cmcp::sandbox::test {
namespace {

namespace fs = std::filesystem;

struct data_stage : stage {
    explicit data_stage(const temporary_workspace& folder) : stage(options_for(folder)), data(folder.path)
    {
        fs::permissions(data, fs::perms(0755));  // of root's launcher, too, runs are nobody's
        fs::create_directory(data / "deep");
        std::ofstream(data / "deep/table.csv") << "a,b\n";
        std::ofstream(data / "program") << "#!/bin/sh\necho ran\n";
        fs::permissions(data / "program", fs::perms(0755));
        fs::create_symlink(fs::path(workspace.path), data / "out");
    }
    static native_backend::options options_for(const temporary_workspace& folder)
    {
        native_backend::options options = launcher_under_test();
        options.launcher.data = folder.path;
        return options;
    }
    std::string says(std::string code, bool all)
    {
        run_request request = bash(std::move(code));
        if (!all) request.programs = {false, {"cat", "ls", "touch", "rm", "id"}};
        run(std::move(request));
        return output.out;
    }
    fs::path data;
};

}  // namespace

TEST_CASE("runs read the data folder and cannot change it", "[run][data][alike]")
{
    if (not_held("Firejail shows no folder at another place")) return;
    const temporary_workspace folder;
    data_stage s(folder);
    for (const bool all : {true, false}) {
        CHECK(s.says("cat /data/deep/table.csv", all) == "a,b\n");
        CHECK(
            s.says("for f in /data/new /data/deep/new /data/deep/table.csv; do touch $f 2>/dev/null && echo $f; done; "
                   "rm -f /data/program 2>/dev/null; ls /data; [ -e /data/out/. ] && echo out",
                   all) == "deep\nout\nprogram\n");
        CHECK(s.says("/data/program 2>/dev/null || echo no", all) == "no\n");
        CHECK(s.says("echo > /data/deep/table.csv; cat /data/deep/table.csv", all) == "a,b\n");
    }
    std::ofstream(s.data / "later") << "it came later\n";
    CHECK(s.says("cat /data/later", true) == "it came later\n");
}

TEST_CASE("without a data folder there is no such place", "[run][data][alike]")
{
    stage s;
    s.run(s.bash("ls -d /data 2>/dev/null || echo none"));
    CHECK(s.output.out == "none\n");
}

TEST_CASE("a data folder that is not there keeps the sandbox from starting", "[run][data][alike]")
{
    if (not_held("Firejail shows no folder at another place")) return;
    native_backend::options options = launcher_under_test();
    options.launcher.data = "/no/such/folder";
    stage s(std::move(options));
    CHECK(s.run_now(s.bash("true")).error.find("/no/such/folder") != std::string::npos);
}

}  // namespace cmcp::sandbox::test
