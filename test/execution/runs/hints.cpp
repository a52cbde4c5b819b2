#include "runs/error_output.hpp"
#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"

#include <string>
#include <vector>

using namespace cmcp;
using namespace cmcp::test;

namespace {

sandbox::run_limits some_limits()
{
    sandbox::run_limits limits;
    limits.processes = 77;
    limits.memory = 900ull << 20;
    limits.process_memory = 300ull << 20;
    limits.open_files = 555;
    limits.file_size = 44ull << 20;
    limits.tmp_size = 33ull << 20;
    limits.workspace_size = 222ull << 20;
    return limits;
}

std::string hint(const std::string& errors, bool failed = true, bool in_sandbox = true)
{
    const auto limits = some_limits();
    return hint_on(errors, {}, {limits, "SANDBOX_KERNEL_MEMORY", in_sandbox, failed});
}

bool speaks_of(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("what programs say of a limit brings its setting and its value")
{
    const std::vector<std::vector<std::string>> rows{
        {"RuntimeError: can't start new thread", "SANDBOX_PROCESS_LIMIT", "77 "},
        {"bash: fork: retry: Resource temporarily unavailable", "SANDBOX_PROCESS_LIMIT", "77 "},
        {"BlockingIOError: [Errno 11] Resource temporarily unavailable\n    self.pid = os.fork()",
         "SANDBOX_PROCESS_LIMIT"},
        {"java.lang.OutOfMemoryError: unable to create native thread", "SANDBOX_PROCESS_LIMIT"},
        {"thread 'main' panicked: failed to spawn thread: Os { code: 11", "SANDBOX_PROCESS_LIMIT"},
        {"Error: spawn ls EAGAIN", "SANDBOX_PROCESS_LIMIT"},
        {"OSError: [Errno 24] Too many open files: 'x'", "SANDBOX_OPEN_FILES", "555 "},
        {"Error: EMFILE: too many open files, open 'a'", "SANDBOX_OPEN_FILES"},
        {"MemoryError", "SANDBOX_KERNEL_MEMORY", "300 MiB"},
        {"numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB", "SANDBOX_KERNEL_MEMORY"},
        {"terminate called after throwing an instance of 'std::bad_alloc'", "SANDBOX_KERNEL_MEMORY"},
        {"FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory", "SANDBOX_KERNEL_MEMORY"},
        {"Error: cannot allocate vector of size 7.5 Gb", "SANDBOX_KERNEL_MEMORY"},
        {"bash: line 1: 9 File size limit exceeded(core dumped)", "SANDBOX_FILE_SIZE_LIMIT", "44 MiB"},
        {"OSError: [Errno 27] File too large", "SANDBOX_FILE_SIZE_LIMIT", "SANDBOX_DISK_QUOTA"},
        {"cp: error writing '/tmp/x': No space left on device", "SANDBOX_TMP_SIZE", "33 MiB"},
        {"dd: error writing 'x': Disk quota exceeded", "SANDBOX_DISK_QUOTA", "222 MiB"},
        {"Error: ENOSPC: System limit for number of file watchers reached", "inotify"},
        {"bash: line 1: 4 CPU time limit exceeded", "processor time"}};
    for (const auto& row : rows)
        for (std::size_t i = 1; i < row.size(); ++i) {
            CAPTURE(row[0], row[i]);
            CHECK(speaks_of(hint(row[0]), row[i]));
            CHECK(hint(row[0], false) == hint(row[0]));  // a shell goes on behind what failed
            CHECK_FALSE(speaks_of(hint(row[0]), "{"));
        }
    CHECK(speaks_of(hint("OSError: [Errno 27] File too large", true, false), "SANDBOX_WORKSPACE_MAX_MB"));
    CHECK(hint("Traceback\nValueError: memory of mine").empty());
}

TEST_CASE("a host that is not reached brings what the network of a sandbox is, where no refusal says so")
{
    for (const char* errors :
         {"urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>",
          "curl: (6) Could not resolve host: example.org", "Error: getaddrinfo EAI_AGAIN registry.example",
          "OSError: [Errno 101] Network is unreachable"}) {
        CAPTURE(errors);
        CHECK(speaks_of(hint(errors), "no network but for the hosts"));
        CHECK(hint(errors, false).empty());
        CHECK(hint(errors, true, false).empty());
        const auto limits = some_limits();
        CHECK(hint_on(errors, {"connect to example.org is refused: not allowed"}, {limits, "", true, true}).empty());
    }
}

TEST_CASE("a UNIX socket that may not be where it was bound brings where it may, where no refusal says so")
{
    CHECK(speaks_of(hint("    socket.socket(socket.AF_UNIX).bind('k')\nPermissionError: [Errno 13] Permission denied"),
                    "/tmp"));
    CHECK(speaks_of(hint("Error: listen EACCES: permission denied /app/results/web.sock"), "abstract"));
    CHECK(hint("cat: a.txt: Permission denied").empty());
}

TEST_CASE("a command that there is not brings what to do in its place")
{
    const std::vector<std::vector<std::string>> rows{
        {"bash: line 1: apt-get: command not found", "install_packages_in_sandbox"},
        {"sh: 1: sudo: not found", "no root"},
        {"/usr/bin/env: \xe2\x80\x98pip\xe2\x80\x99: No such file or directory", "install_packages_in_sandbox"},
        {"env: 'docker': No such file or directory", "Containers"},
        {"FileNotFoundError: [Errno 2] No such file or directory: 'xdg-open'", "no screen"},
        {"Error: spawn systemctl ENOENT", "service manager"},
        {"bash: python: not an allowed command (BASH_ALLOWED_COMMANDS lists what may run: ls)", "execute_python_code"},
        {"bash: git: not an allowed command (BASH_ALLOWED_COMMANDS lists what may run: ls)",
         "execute_terminal_command"},
        {"sudo: The \"no new privileges\" flag is set, which prevents sudo from running as root.", "no root"},
        {"E: Could not open lock file /var/lib/dpkg/lock-frontend - open (2: No such file or directory)",
         "System packages"}};
    for (const auto& row : rows) {
        CAPTURE(row[0]);
        CHECK(speaks_of(hint(row[0]), row[1]));
        CHECK(hint(row[0], false).empty());
    }
    CHECK(hint("bash: line 1: my-own-tool: command not found").empty());
    CHECK(hint("FileNotFoundError: [Errno 2] No such file or directory: 'open/a.txt'").empty());
    CHECK(hint("cat: '/srv/pip': No such file or directory").empty());
}

TEST_CASE("of a long output the beginning and the end count")
{
    const std::string noise(300'000, 'c');
    const std::string full = "dd: error writing 'x': Disk quota exceeded";
    CHECK(speaks_of(hint(full + "\n" + noise), "SANDBOX_DISK_QUOTA"));
    CHECK(speaks_of(hint(noise + "\n" + full + "\n"), "SANDBOX_DISK_QUOTA"));
    CHECK(speaks_of(hint(noise + "\nModuleNotFoundError: No module named 'yaml'\n"), "pyyaml"));
    CHECK(denied_paths("cat: /proc/1/mem: Permission denied\n" + noise, "/workspace").size() == 1);
    CHECK(denied_paths(noise + "\ncat: /proc/1/mem: Permission denied\n", "/workspace").size() == 1);
}

TEST_CASE("what programs print is looked through in time linear in it, whatever it holds")
{
    const std::vector<std::string> pieces{
        "Permission denied / ", ": ",  "/'", "c", "Permission denied: '/a\n", "x: command not found\n", " ENOENT",
        "unable to create ",    "fork"};
    for (const auto& piece : pieces) {
        CAPTURE(piece);
        const auto output = [&piece](std::size_t size) {
            std::string text = "Read-only file system";
            while (text.size() < size) text += piece;
            return text;
        };
        const auto look = [](const std::string& text) {
            hint(text);
            denied_paths(text, "/workspace");
        };
        CHECK(growth(output, look, 30'000) < 2 * linear_growth);  // the ends of both are what is looked at
        CHECK(growth(output, look, 2'000'000) < linear_growth);
    }
}
