#include "test/execution/sandbox/run_support.hpp"

#include <filesystem>

namespace cmcp::sandbox::test {
namespace {

namespace fs = std::filesystem;

native_backend::options keeping_two()
{
    native_backend::options options = launcher_under_test();
    options.launcher.waiting = 2;
    return options;
}

/// Repeats the run until a program that stood by serves it, because the launcher does not promise how soon one is
/// ready.
run_result run_waiting(stage& s, const run_request& wanted)
{
    constexpr int most_tries = 500;
    for (int i = 0; i < most_tries; ++i) {
        run_result result = s.run(wanted);
        if (result.waited) return result;
    }
    FAIL("no run was one that had waited");
    return {};
}

/// A ready cell is a first process and its child; the child is a shell where the launcher holds one before its main.
bool a_shell_is_held(int launcher)
{
    for (const auto& [first, its_name] : children_of(launcher))
        for (const auto& [process, name] : children_of(first))
            if (name == "bash") return true;
    return false;
}

}  // namespace

TEST_CASE("a run that waited is told its program, arguments, environment, input and folder when it begins")
{
    stage s(keeping_two());
    run_request wanted = s.bash("echo \"$0 $1 $COLOUR\"; cat; pwd; ls /proc/self/fd; cat <&3; exit 7");
    wanted.argv.insert(wanted.argv.end(), {"name", "argument"});
    wanted.environment = {{"COLOUR", "green"}};
    wanted.input = "given\n";
    wanted.script = "script\n";
    wanted.working_dir = "/tmp";
    const run_result cold = s.run(wanted);
    CHECK_FALSE(cold.waited);
    const std::string out = s.output.out;
    CHECK(out == "name argument green\ngiven\n/tmp\n0\n1\n2\n3\n4\nscript\n");
    CHECK(run_waiting(s, wanted).exit_code == 7);
    CHECK(s.output.out == out);
}

TEST_CASE("a program that is installed beside a running launcher is there in the next runs, also in those that waited")
{
    if (not_held("a profile shows no folder that its first run did not have")) return;
    std::string folder = "/var/tmp/container-mcp-test-XXXXXX";
    REQUIRE(::mkdtemp(folder.data()) != nullptr);
    const std::string late = folder + "/late";
    stage s(keeping_two());
    run_request wanted = s.bash("test -x " + late + " && " + late);
    wanted.programs = {false, {"ls", late}};
    CHECK(run_waiting(s, wanted).exit_code == 1);
    fs::copy("/usr/bin/true", late);
    constexpr int most_tries = 1000;  // the launcher waits before it builds a slow view again
    int tries = 0;
    while (s.run(wanted).exit_code != 0 && ++tries < most_tries) {
    }
    CHECK(tries < most_tries);
    CHECK(run_waiting(s, wanted).exit_code == 0);
    fs::remove_all(folder);
}

TEST_CASE("a shell that was held before its main shows what a cold one shows")
{
    stage s(keeping_two());
    run_request wanted = s.bash(
        "for each in cmdline environ comm; do tr -s '\\0' '\\n' < /proc/$$/$each; done; env; echo $$ $PPID $-; "
        "ulimit -a; grep -e Sig -e Seccomp -e Cap /proc/$$/status");
    wanted.environment = {{"COLOUR", "green"}};
    s.run(wanted);
    const std::string cold = s.output.out;
    CHECK(cold.find("green") != std::string::npos);
    run_waiting(s, wanted);
    CHECK(s.output.out == cold);
}

TEST_CASE("a held shell takes commands of any length that a start can carry")
{
    stage s(keeping_two());
    for (const std::size_t length : {1u, 2000u, 2100u, 40'000u}) {
        run_waiting(s, s.bash("true"));
        CHECK(run_waiting(s, s.bash("word=" + std::string(length, 'x') + "; echo ${#word}")).exit_code == 0);
        CHECK(s.output.out == std::to_string(length) + "\n");
    }
}

TEST_CASE("programs that are no shells wait, too, and are executed when they begin")
{
    stage s(keeping_two());
    run_request wanted = s.bash("");
    wanted.argv = {"/usr/bin/printenv", "COLOUR"};
    wanted.environment = {{"COLOUR", "green"}};
    CHECK(run_waiting(s, wanted).exit_code == 0);
    CHECK(s.output.out == "green\n");
}

TEST_CASE("where the loader finds no library to hold it, a shell waits like other programs")
{
    temporary_workspace folder;
    const std::string link = folder.path + "/launcher";
    fs::create_symlink(std::string(CMCP_BUILD_DIR) + "/test/faulty-launcher", link);
    std::ofstream(link + ".faults") << "leave_out private_proc\n";
    native_backend::options options = keeping_two();
    options.launcher_path = link;
    stage s(options);
    CHECK(run_waiting(s, s.bash("echo it works; exit 3")).exit_code == 3);
    CHECK(s.output.out == "it works\n");
}

TEST_CASE("a program that sends its first process signals goes on, and ends as it does")
{
    stage s(keeping_two());
    const run_request wanted =
        s.bash("for number in $(seq 1 64); do kill -$number 1; done 2>/dev/null; echo goes on; exit 4");
    CHECK(s.run(wanted).exit_code == 4);
    CHECK(run_waiting(s, wanted).exit_code == 4);
    CHECK(s.output.out == "goes on\n");
}

TEST_CASE("what waits for one workspace serves no other")
{
    stage s(keeping_two());
    temporary_workspace second;
    run_request here = s.bash("ls; touch here"), there = here;
    there.workspace = second.path;
    there.argv.back() = "ls; touch there";
    run_waiting(s, here);
    CHECK(s.output.out == "here\n");
    run_waiting(s, there);
    CHECK(s.output.out == "there\n");
    run_waiting(s, here);
    CHECK(s.output.out == "here\n");
}

TEST_CASE("a folder that took the place of the workspace is the one that a run sees")
{
    stage s(keeping_two());
    const fs::path folder = s.workspace.path + "/work", moved = s.workspace.path + "/moved";
    fs::create_directory(folder);
    fs::permissions(folder, fs::perms::all);
    run_request wanted = s.bash("ls");
    wanted.workspace = folder;
    std::ofstream(folder / "first").put('\n');
    run_waiting(s, wanted);
    fs::rename(folder, moved);
    fs::create_directory(folder);
    fs::permissions(folder, fs::perms::all);
    s.run(wanted);
    CHECK(s.output.out.empty());
}

TEST_CASE("the limits of a run that waited are those it was asked for with")
{
    stage s(keeping_two());
    run_request endless = s.bash("while :; do :; done");
    run_waiting(s, s.bash("true"));
    endless.limits.wall = std::chrono::milliseconds(300);
    CHECK(s.run(endless).why == cause::timeout);
    run_request few = s.bash("ulimit -n; ulimit -t");
    few.limits.open_files = 33;
    few.limits.cpu = std::chrono::seconds(5);
    run_waiting(s, few);
    CHECK(s.output.out == "33\n5\n");
    CHECK(run_waiting(s, s.bash("kill -SEGV $$")).signal == 11);
}

TEST_CASE("a program or folder that a waiting run does not find is told as a cold run tells it")
{
    stage s(keeping_two());
    run_request lost = s.bash("true");
    lost.working_dir = "/nowhere";
    run_waiting(s, s.bash("true"));
    for (int i = 0; i < 4; ++i) {
        const auto result = cmcp::test::run_coroutine(s.io, s.backend.run(lost, s.output), std::chrono::seconds(20));
        CHECK(result.why == cause::setup_failed);
        CHECK(result.error.find("/nowhere") != std::string::npos);
    }
    CHECK(s.run(s.bash("echo works")).exit_code == 0);
}

TEST_CASE("no more runs wait than for four callers")
{
    stage s(keeping_two());
    constexpr int callers = 7;
    constexpr std::size_t most = 4 * 2;
    std::vector<std::unique_ptr<temporary_workspace>> workspaces;
    for (int i = 0; i < callers; ++i) {
        run_request wanted = s.bash("true");
        workspaces.push_back(std::make_unique<temporary_workspace>());
        wanted.workspace = workspaces.back()->path;
        run_waiting(s, wanted);
    }
    run_waiting(s, s.bash("true"));
    constexpr std::size_t ending = 4;  // ended runs whose namespaces the kernel still removes
    CHECK(children_of(s.backend.launcher_pid()).size() <= most + ending);
}

TEST_CASE("shells are held also after waiting runs were ended to make room for other callers'")
{
    stage s(keeping_two());
    const auto until_one_is_held = [&](const run_request& wanted) {
        for (int i = 0; i < 500; ++i) {
            s.run(wanted);
            if (a_shell_is_held(s.backend.launcher_pid())) return true;
        }
        return false;
    };
    std::vector<std::unique_ptr<temporary_workspace>> workspaces;
    for (int callers = 0; callers < 14; ++callers) {  // the first callers lose their standby runs long before the last
        run_request wanted = s.bash("true");
        workspaces.push_back(std::make_unique<temporary_workspace>());
        wanted.workspace = workspaces.back()->path;
        run_waiting(s, wanted);
        REQUIRE(until_one_is_held(wanted));
    }
}

TEST_CASE("a launcher that is told to keep none ready keeps none")
{
    stage s;
    for (int i = 0; i < 5; ++i) CHECK_FALSE(s.run(s.bash("true")).waited);
}

}  // namespace cmcp::sandbox::test
