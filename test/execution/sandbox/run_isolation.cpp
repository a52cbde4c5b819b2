#include "test/execution/sandbox/run_support.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <fstream>

namespace cmcp::sandbox::test {

TEST_CASE("only the small root is visible", "[run]")
{
    stage s;
    if (under_firejail()) {
        s.run(s.bash("find /home /root /var /srv /mnt /work /sys /boot /opt ! -type d -readable 2>/dev/null"));
        CHECK(s.output.out == "");  // the names of folders cannot be hidden; in /run are files of Firejail
        return;
    }
    s.run(s.bash("ls -A / | tr '\\n' ' '"));
    for (const auto& entry : {"work", "sys", "boot"})
        CHECK((" " + s.output.out).find(" " + std::string(entry) + " ") == std::string::npos);
    CHECK(s.output.out.find("workspace") != std::string::npos);
    s.run(
        s.bash("find /home /root /var /srv /mnt /media /opt ! -type d ! -path /root ! -path /var/run ! -path /var/tmp "
               "2> /dev/null"));
    CHECK(s.output.out == "");  // folders that programs expect, with nothing of the machine's
    s.run(s.bash("ls -A /run; find /run -type f | sort"));
    CHECK(s.output.out ==
          "container-mcp\n/run/container-mcp/bin/tools\n/run/container-mcp/python/container_mcp_figures.py\n"
          "/run/container-mcp/python/sitecustomize.py\n/run/container-mcp/python/tools.py\n");
}

TEST_CASE("accounts and keys of the host are not visible", "[run]")
{
    stage s;
    s.run(s.bash(
        "cut -d: -f1 /etc/passwd | tr '\\n' ' '; ls /etc/shadow /etc/ssh 2>&1 | grep -c 'No such file'; id -un"));
    // Firejail cannot show accounts that are not the machine's, so it shows none.
    CHECK(s.output.out == (under_firejail() ? "2\n" + user_inside() + "\n" : "sandbox nobody 2\nsandbox\n"));
}

TEST_CASE("files of the host outside the workspace are not visible", "[run]")
{
    stage s;
    const temporary_workspace of_host;
    std::ofstream(of_host.path + "/secret") << "secret";
    s.run(s.bash("cat " + of_host.path +
                 "/secret " CMCP_SOURCE_DIR "/CMakeLists.txt; ls -A /tmp | grep -v container-mcp-test | wc -l"));
    CHECK(s.output.out == "0\n");
}

TEST_CASE("the system is read-only in a run", "[run]")
{
    stage s;
    s.run(
        s.bash("grep ' /usr ' /proc/self/mounts | cut -d' ' -f4; for p in /usr /etc / /dev /proc; do touch $p/x "
               "2>/dev/null && "
               "echo written $p; done; true"));
    CHECK(s.output.out.starts_with("ro,"));
    CHECK(s.output.out.find("written") == std::string::npos);
}

TEST_CASE("a run has no capabilities and an ordinary user", "[run]")
{
    stage s;
    s.run(
        s.bash("id -u; id -g; grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status"));
    CHECK(s.output.out == user_inside() + "\n" + user_inside() +
                              "\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
                              "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n");
}

TEST_CASE("a run sees only its own processes", "[run]")
{
    stage s;
    s.run(s.python(
        "import os\nprint([p for p in os.listdir('/proc') if p.isdigit() and p not in ('1', str(os.getpid()))])\n"
        "print(os.getpid() < 10)"));
    // With Firejail the process that takes the last steps is there too; it is not the first one.
    CHECK(s.output.out.find(',') == std::string::npos);
    CHECK(s.output.out.starts_with(under_firejail() ? "['" : "[]\nTrue"));
}

TEST_CASE("a server on the host's loopback cannot be reached", "[run]")
{
    const unique_fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(listener.get(), 1) == 0);
    socklen_t length = sizeof address;
    ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length);
    stage s;
    s.run(s.bash("(echo > /dev/tcp/127.0.0.1/" + std::to_string(ntohs(address.sin_port)) + ") 2>&1 | grep -o refused"));
    CHECK(s.output.out.starts_with("refused\n"));
}

TEST_CASE("a run has a loopback of its own", "[run]")
{
    stage s;
    s.run(s.python(
        "import socket\nl = socket.create_server(('127.0.0.1', 0))\nc = socket.create_connection(l.getsockname())\n"
        "print('connected')"));
    CHECK(s.output.out == "connected\n");
}

TEST_CASE("/proc tells of the run's own memory and processors, and of nothing else of the machine", "[run][measured]")
{
    if (not_held("Firejail shows or hides what the machine's /proc has, but puts nothing in its place")) return;
    stage s;
    run_request wanted = s.bash(
        "cd /proc; grep -c . meminfo cpuinfo stat loadavg; sed -n 's/MemTotal: *//p; s/MemAvailable: *//p' meminfo; "
        "grep -c ^processor cpuinfo; grep -c '^cpu[0-9]' stat; nproc; read -r up idle < uptime && echo ${up%.*}; "
        "ls | grep -v '^[0-9]'; for p in meminfo uptime; do echo 1 > $p; umount $p; rm -f $p; done 2>/dev/null; "
        "ls -d version cmdline kallsyms keys net mounts fs irq bus acpi driver kcore sysrq-trigger 2>/dev/null; "
        "cat meminfo | grep -c MemTotal");
    wanted.limits.memory = 100ull << 20;
    CHECK(s.run(wanted).exit_code == 0);
    const long processors = std::stol(s.output.out.substr(s.output.out.find("102400 kB\n102400 kB\n") + 20));
    const std::string each = std::to_string(processors) + "\n";
    INFO(s.output.out << s.output.err);
    CHECK(s.output.out.find("102400 kB\n102400 kB\n" + each + each + each) != std::string::npos);
    CHECK(s.output.out.ends_with("\nself\nthread-self\n1\n"));
    wanted = s.python(
        "import os\nup = float(open('/proc/uptime').read().split()[0])\nstart = "
        "int(open('/proc/self/stat').read().rsplit(')')[1].split()[19])\n"
        "print(0 <= up - start / os.sysconf('SC_CLK_TCK') < 60, os.cpu_count() == len(os.sched_getaffinity(0)))");
    s.run(wanted);
    CHECK(s.output.out == "True True\n");
}

TEST_CASE("runs with other limits are shown other figures", "[run][measured]")
{
    if (not_held("Firejail puts nothing in the place of the machine's figures")) return;
    stage s;
    for (const std::uint64_t megabytes : {64u, 96u, 64u}) {
        run_request wanted = s.bash("grep MemTotal /proc/meminfo | tr -dc 0-9");
        wanted.limits.memory = megabytes << 20;
        s.run(wanted);
        CHECK(s.output.out == std::to_string(megabytes << 10));
    }
}

TEST_CASE("process 1 cannot be signalled and shows nothing", "[run]")
{
    stage s;
    const auto result = s.run(s.bash("kill -TERM 1; kill -KILL 1; kill -STOP 1; cat /proc/1/environ; echo alive"));
    CHECK(s.output.out == "alive\n");
    CHECK(result.exit_code == 0);
}

TEST_CASE("a run that kills everything it can still ends as it says", "[run]")
{
    stage s;
    const auto result = s.run(s.bash("sleep 50 & kill -9 -1; exit 5"));
    CHECK(result.exit_code == 5);
    CHECK(result.why == cause::exited);
}

TEST_CASE("namespaces cannot be made inside a run", "[run]")
{
    stage s;
    const auto result = s.run(s.bash("unshare -U true 2>/dev/null || echo refused"));
    CHECK(s.output.out == "refused\n");
    CHECK(result.exit_code == 0);
}

TEST_CASE("with an allow-list only listed programs exist", "[run]")
{
    stage s;
    auto wanted = s.bash("ls /usr/bin | tr '\\n' ' '; /usr/bin/id; id; exit 0");
    wanted.programs.all = false;
    wanted.programs.names = {"ls", "tr"};
    s.run(std::move(wanted));
    INFO(s.output.err);
    CHECK(s.output.out.find("bash") != std::string::npos);
    CHECK(s.output.out.find("ls ") != std::string::npos);
    CHECK(s.output.out.find("python") == std::string::npos);
    CHECK(s.output.err.find("/usr/bin/id: No such file or directory") != std::string::npos);
    CHECK(s.output.err.find("id: command not found") != std::string::npos);
}

TEST_CASE("with an allow-list nothing writable can be executed", "[run]")
{
    stage s;
    auto wanted =
        s.bash("for d in . /tmp /dev/shm; do cp /usr/bin/cp $d/copy; $d/copy --version && echo ran; done; exit 0");
    wanted.programs.all = false;
    wanted.programs.names = {"cp"};
    s.run(std::move(wanted));
    CHECK(s.output.out.find("ran") == std::string::npos);
    CHECK(s.output.err.find("ermission denied") != std::string::npos);
}

TEST_CASE("Python runs under an allow-list that does not name it, as the interpreter of the run", "[run]")
{
    stage s;
    auto wanted = s.python("import json, ssl, sqlite3, os; print(os.listdir('.'))");
    wanted.programs.all = false;
    const auto result = s.run(std::move(wanted));
    INFO(s.output.err);
    CHECK(s.output.out == "[]\n");
    CHECK(result.exit_code == 0);
}

TEST_CASE("the probe finds the layers on", "[run]")
{
    stage s;
    const layers probed = cmcp::test::run_coroutine(s.io, s.backend.probe());
    const auto absent = missing(probed, {"namespaces", "seccomp", "no_network", "limits"});
    std::string table;
    for (const auto& each : probed)
        table += each.name + ": " + std::string(to_string(each.is)) + " " + each.detail + "\n";
    INFO(table);
    CHECK(absent.empty());
}

}  // namespace cmcp::sandbox::test
