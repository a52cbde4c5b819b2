#include "limits/tree_usage.hpp"
#include "test/execution/sandbox/run_support.hpp"

#include <fcntl.h>

#include <fstream>

namespace cmcp::sandbox::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t mib = 1 << 20;
constexpr tree_bounds anything{~0ull, ~0ull};

tree_usage count(const std::string& folder, tree_bounds most = anything)
{
    const unique_fd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return count_tree(opened.get(), most);
}

void write(const std::string& path, std::size_t bytes) { std::ofstream(path) << std::string(bytes, 'x'); }

run_request bounded(run_request wanted, std::uint64_t size, std::uint64_t files = 0)
{
    wanted.limits.workspace_size = size;
    wanted.limits.workspace_files = files;
    wanted.limits.wall = std::chrono::seconds(20) * slowness();
    return wanted;
}

// Writes files of 2 MiB until a limit stops the run.
constexpr const char* fill = "for i in $(seq 200); do head -c 2M /dev/zero > part$i; done; echo filled";

}  // namespace

TEST_CASE("a tree is counted with what lies deep in it, files with two names once, links not followed")
{
    const temporary_workspace w;
    fs::create_directories(w.path + "/a/b/c");
    write(w.path + "/a/b/c/large", 3 * mib);
    fs::create_hard_link(w.path + "/a/b/c/large", w.path + "/again");
    fs::create_symlink("/usr", w.path + "/elsewhere");
    const tree_usage usage = count(w.path);
    CHECK(usage.complete);
    CHECK(usage.files == 5);
    CHECK(usage.bytes >= 3 * mib);
    CHECK(usage.bytes < 4 * mib);
}

TEST_CASE("a file that only seems large does not count")
{
    const temporary_workspace w;
    write(w.path + "/sparse", 1);
    fs::resize_file(w.path + "/sparse", 1ull << 40);
    CHECK(count(w.path).bytes < mib);
}

TEST_CASE("a count ends at its bounds")
{
    const temporary_workspace w;
    for (int i = 0; i < 50; ++i) write(w.path + "/" + std::to_string(i), 1);
    CHECK(count(w.path, {~0ull, 10}).files == 11);
}

TEST_CASE("a run that fills the workspace with many files is ended with a sentence", "[run][alike]")
{
    stage s;
    const auto result = s.run(bounded(s.bash(fill), 64 * mib));
    CHECK(result.why == cause::file_size_limit);
    CHECK(result.detail.find("64 MiB (SANDBOX_WORKSPACE_MAX_MB, SANDBOX_DISK_QUOTA)") != std::string::npos);
    CHECK(s.output.out.empty());
    CHECK(count(s.workspace.path).bytes < 400 * mib);
}

TEST_CASE("a run that makes too many files is ended with a sentence", "[run][alike]")
{
    stage s;
    const auto result =
        s.run(bounded(s.python("import itertools\nfor i in itertools.count(): open(f'f{i}', 'w').close()"), 0, 100));
    CHECK(result.why == cause::file_size_limit);
    CHECK(result.detail.find("limit of 100 (SANDBOX_WORKSPACE_MAX_FILES)") != std::string::npos);
}

TEST_CASE("a run that writes to deleted files is ended too", "[run][alike]")
{
    stage s;
    const auto result =
        s.run(bounded(s.python("import os, time\nkept = []\nfor i in range(60):\n  f = open('x', 'wb')\n  "
                               "os.unlink('x')\n  kept.append(f)\n"
                               "  f.write(b'x' * (4 << 20)); f.flush(); time.sleep(0.01)\nprint('filled')"),
                      64 * mib));
    CHECK(result.why == cause::file_size_limit);
    CHECK(s.output.out.empty());
}

TEST_CASE("a run in a full workspace can delete but not write, and afterwards all is well", "[run][alike]")
{
    stage s;
    s.run(bounded(s.bash(fill), 32 * mib));
    const auto full = s.run(bounded(s.bash("echo x > new; echo $?; ls part1; rm -f part*; ls | wc -l"), 32 * mib));
    INFO(s.output.err);
    CHECK(full.why == cause::exited);
    CHECK(s.output.out == "1\npart1\n0\n");
    REQUIRE(full.denied.size() == 1);
    CHECK(full.denied[0].find("only deleting works") != std::string::npos);
    // This run starts the next count at the latest, and that count finds the workspace empty.
    s.run(bounded(s.bash("sleep 0.3"), 32 * mib));
    s.run(bounded(s.bash("echo x > new; cat new"), 32 * mib));
    CHECK(s.output.out == "x\n");
}

// The number of runs before the refusal depends on the processor time that the count gets.
TEST_CASE("short runs that each write a little are stopped, too, when the workspace is full", "[run][alike]")
{
    stage s;
    bool refused = false;
    for (int run = 0; run < 400 && !refused; ++run) {
        s.run(bounded(s.bash("head -c 1M /dev/zero > part" + std::to_string(run) + " || echo refused"), 16 * mib));
        refused = !s.output.out.empty();
    }
    CHECK(refused);
    CHECK(count(s.workspace.path).bytes > 15 * mib);
}

TEST_CASE("a run in a workspace with room is left alone whatever it rewrites", "[run][alike]")
{
    stage s;
    const auto result =
        s.run(bounded(s.bash("for i in $(seq 30); do head -c 8M /dev/zero > same; done; echo done"), 64 * mib));
    CHECK(result.why == cause::exited);
    CHECK(s.output.out == "done\n");
}

TEST_CASE("a deep tree does not hide what lies in it", "[run][alike]")
{
    stage s;
    const auto result = s.run(
        bounded(s.python("import os\nfor i in range(3000):\n  os.mkdir('d'); os.chdir('d')\nfor i in range(200):\n"
                         "  with open(f'f{i}', 'wb') as f: f.write(b'x' * (2 << 20))\nprint('filled')"),
                64 * mib));
    CHECK(result.why == cause::file_size_limit);
    CHECK(s.output.out.empty());
}

}  // namespace cmcp::sandbox::test
