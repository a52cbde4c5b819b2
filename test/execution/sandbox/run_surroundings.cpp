#include "test/execution/sandbox/run_support.hpp"

#include "jail/program_view.hpp"

#include <fstream>
#include <regex>
#include <sstream>

// The surroundings that programs expect.
namespace cmcp::sandbox::test {

namespace {

bool is_uuid(const std::string& text)
{
    return std::regex_match(text, std::regex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
}

std::vector<std::string> lines_of(const std::string& text)
{
    std::istringstream from(text);
    std::vector<std::string> all;
    for (std::string line; std::getline(from, line);) all.push_back(line);
    return all;
}

}  // namespace

TEST_CASE("/var/tmp is the run's own memory, and the other usual folders are empty", "[run][alike]")
{
    if (not_held("Firejail shows the machine's folders")) return;
    stage s;
    s.run(
        s.bash("f=$(mktemp -p /var/tmp) && echo kept > $f && cat $f; d=$(mktemp -d /var/tmp/x.XXXX) && rmdir $d; "
               "ls -A /opt /srv /mnt /media /home | grep -v ':$' | grep -v '^$'; test -d /var/log -a -d /var/lib && "
               "echo folders; "
               "ls -A /root 2> /dev/null"));
    CHECK(s.output.out == "kept\nfolders\n");
    CHECK(s.output.err == "");
    s.run(s.bash("ls /var/tmp"));
    CHECK(s.output.out == "");
}

TEST_CASE("/proc/sys has settings that say nothing of the machine's name, and nothing to write to", "[run][alike]")
{
    if (not_held("Firejail shows the machine's own /proc/sys")) return;
    stage s;
    s.run(s.bash("cat /proc/meminfo > /dev/null 2>&1 || echo none"));
    if (s.output.out == "none\n") return;  // this place cannot show processes and figures alone
    s.run(
        s.bash("cd /proc/sys; cat kernel/hostname kernel/random/boot_id kernel/random/boot_id kernel/random/uuid "
               "kernel/random/uuid fs/inotify/max_user_watches"));
    const auto lines = lines_of(s.output.out);
    REQUIRE(lines.size() == 6);
    CHECK(lines[0] == "sandbox");
    CHECK(is_uuid(lines[1]));
    CHECK(lines[1] == lines[2]);
    CHECK(is_uuid(lines[3]));
    CHECK(is_uuid(lines[4]));
    CHECK(lines[3] != lines[4]);
    CHECK(lines[5] == "8192");
    std::string own;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), own);
    CHECK(lines[1] != own);
    s.run(
        s.bash("cd /proc/sys; cat kernel/pid_max kernel/osrelease vm/max_map_count net/core/somaxconn | wc -l; "
               "for f in vm/overcommit_memory kernel/hostname kernel/random/uuid kernel/core_pattern new; do "
               "(echo 1 > $f) 2> /dev/null && echo $f; done; ls kernel/core_pattern kernel/modprobe kernel/keys user "
               "debug 2> /dev/null"));
    CHECK(s.output.out == "4\n");
}

TEST_CASE("python runs where the machine has python3 alone, if the run may execute that", "[run][alike]")
{
    if (not_held("Firejail shows the machine's own folders of programs")) return;
    stage s;
    std::ofstream(s.workspace.path + "/script") << "#!/usr/bin/env python\nprint(5)\n";
    s.run(s.bash("python -c 'import sys; print(sys.version_info[0])'; chmod +x script; ./script"));
    CHECK(s.output.out == "3\n5\n");
    auto listed = s.bash("python -c 'print(1)'; env python -c 'print(2)'");
    listed.programs = {false, {"python3", "env"}};
    s.run(std::move(listed));
    CHECK(s.output.out == "1\n2\n");
    auto without = s.bash("python -c 'print(1)' 2> /dev/null; echo $?");
    without.programs = {false, {"env"}};
    s.run(std::move(without));
    CHECK(s.output.out == "127\n");
}

TEST_CASE("git commits without an identity of the caller's, and with it where there is one", "[run][alike]")
{
    if (!find_program("git")) return;
    if (not_held("Firejail shows the machine's own /etc/gitconfig")) return;
    stage s;
    s.run(
        s.bash("mkdir a; cd a; git init -q && git branch --show-current && git commit -q --allow-empty -m one && "
               "git log --format=%an; git config user.name Ann && git config user.email ann@example.com && "
               "git commit -q --allow-empty -m two && git log -1 --format='%an %ae'"));
    CHECK(s.output.out == "main\nsandbox\nAnn ann@example.com\n");
    CHECK(s.output.err == "");
}

TEST_CASE("as many files are open at once as is usual, and no more", "[run][alike]")
{
    stage s;
    auto wanted = s.python(
        "import errno\nf = []\ntry:\n  while True: f.append(open('/dev/null'))\n"
        "except OSError as e: print(len(f) > 900, e.errno == errno.EMFILE)");
    s.run(std::move(wanted));
    CHECK(s.output.out == "True True\n");
}

TEST_CASE("a Python that a command starts has threads with small stacks", "[run][alike]")
{
    if (not_held("Firejail has no files of this project")) return;
    stage s;
    auto wanted = s.bash(
        "python3 -c 'import threading\nb = threading.Barrier(151)\n"
        "t = [threading.Thread(target=b.wait) for _ in range(150)]\n[x.start() for x in t]\nb.wait()\n"
        "[x.join() for x in t]\nprint(len(t))'");
    wanted.environment = {{"PYTHONPATH", "/run/container-mcp/python"}};
    wanted.limits.processes = 200;
    s.run(std::move(wanted));
    CHECK(s.output.out == "150\n");
    CHECK(s.output.err == "");
}

TEST_CASE("a file cannot grow beyond what the workspace has left", "[run][alike]")
{
    stage s;
    auto wanted = s.bash("head -c 20M /dev/zero > big; stat -c %s big");
    wanted.limits.workspace_size = 8 << 20;
    s.run(std::move(wanted));
    CHECK(s.output.out.find("20971520") == std::string::npos);
    CHECK(std::filesystem::file_size(s.workspace.path + "/big") <= 9 << 20);
    auto sparse = s.request({"/usr/bin/truncate", "-s", "1G", "sparse"});
    std::filesystem::remove(s.workspace.path + "/big");
    sparse.limits.workspace_size = 8 << 20;
    const auto result = s.run(std::move(sparse));
    CHECK_FALSE((result.why == cause::exited && result.exit_code == 0));
}

}  // namespace cmcp::sandbox::test
