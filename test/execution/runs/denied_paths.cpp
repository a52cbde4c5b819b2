#include "runs/error_output.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;

namespace {

const std::string etc = "writing /etc/x: read-only in the sandbox, where /workspace, /tmp and /dev/shm can be written";

}  // namespace

TEST_CASE("paths that a run was refused are found in what programs say of them")
{
    for (const char* said :
         {"bash: line 1: /etc/x: Read-only file system\n", "touch: cannot touch '/etc/x': Read-only file system",
          "mkdir: cannot create directory ‘/etc/x’: Read-only file system\n",
          "Traceback (most recent call last):\n  File \"<code>\", line 1\nOSError: [Errno 30] Read-only file system: "
          "'/etc/x'\n",
          "/usr/bin/install: cannot create regular file '/etc/x': Read-only file system\n"}) {
        CAPTURE(said);
        CHECK(denied_paths(said, "/workspace") == std::vector<std::string>{etc});
    }
    CHECK(denied_paths("cat: /proc/1/mem: Permission denied\n", "/workspace") ==
          std::vector<std::string>{"access to /proc/1/mem: not permitted in the sandbox"});
    CHECK(denied_paths("PermissionError: [Errno 13] Permission denied: '/proc/1/environ'", "/workspace").size() == 1);
}

TEST_CASE("each refused path is named once, and not more than a few are")
{
    std::string text = "a: /etc/x: Read-only file system\nb: /etc/x: Read-only file system\n";
    CHECK(denied_paths(text, "/workspace") == std::vector<std::string>{etc});
    for (int i = 0; i < 100; ++i) text += "a: /usr/" + std::to_string(i) + ": Read-only file system\n";
    CHECK(denied_paths(text, "/workspace").size() == 8);
}

TEST_CASE("what is refused in places that can be written, and lines without a path, name nothing")
{
    for (const char* said :
         {"cat: /workspace/locked: Permission denied\n", "sh: /tmp/script: Permission denied\n", "Permission denied\n",
          "cat: /nowhere: No such file or directory\n", "./run: Permission denied\n", ""})
        CHECK(denied_paths(said, "/workspace").empty());
    CHECK(denied_paths("cat: /workspaces/locked: Permission denied\n", "/workspace").size() == 1);
}
