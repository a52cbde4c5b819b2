#include "test/execution/sandbox/run_support.hpp"

#include <filesystem>
#include <fstream>

using namespace cmcp::sandbox;
using cmcp::sandbox::test::stage;

namespace {

namespace fs = std::filesystem;

/// A stage whose runs may use only `names`; a copy of id lies in the workspace, as if it had been uploaded.
struct listed : stage {
    explicit listed(std::vector<std::string> programs) : names(std::move(programs))
    {
        fs::copy_file("/usr/bin/id", workspace.path + "/copied");
        fs::permissions(workspace.path + "/copied", fs::perms::all);
        fs::permissions(workspace.path, fs::perms::all);
    }

    /// The output of the code; no part of that output may come from the program id.
    std::string bash_prints(const std::string& code) { return prints(bash(code)); }
    std::string python_prints(const std::string& code) { return prints(python(code)); }

    std::string prints(run_request wanted)
    {
        wanted.programs = {false, names};
        run(std::move(wanted));
        return output.out;
    }

    std::vector<std::string> names;
};

}  // namespace

TEST_CASE("under an allow-list the listed programs work, in pipes and with their libraries", "[run][alike]")
{
    listed s({"ls", "cat", "sort", "awk", "sed", "grep", "tar", "git", "env", "xargs", "find"});
    CHECK(s.bash_prints("printf 'b\\na\\n' | sort | awk '{print $1}' | sed s/a/x/ | grep x") == "x\n");
    CHECK(s.bash_prints("git init -q . && git status --short | sort && tar cf a.tar copied && ls a.tar") != "");
    CHECK(s.output.out.find("a.tar") != std::string::npos);
}

TEST_CASE("under an allow-list Git finds itself where it looks for its helpers", "[run][alike]")
{
    listed s({"git", "cat", "sh"});
    const std::string out = s.bash_prints(
        "git config --global user.name a; git config --global user.email b; git init -q r; cd r; "
        "echo x > f; git add f; git commit -qm one; git gc -q; cd ..; git clone -q r copy; cat copy/f");
    INFO(s.output.err);
    CHECK(out == "x\n");
}

TEST_CASE("under an allow-list an unlisted program fails whatever way it is named", "[run][alike]")
{
    listed s({"ls", "cat", "env", "find", "xargs", "awk", "sed", "tar", "git"});
    for (const char* code : {"id",
                             "echo a; id",
                             "echo $(id)",
                             "/usr/bin/id",
                             "/bin/id",
                             "env id",
                             "env /usr/bin/id",
                             "find . -maxdepth 0 -exec id \\;",
                             "echo x | xargs id",
                             "awk 'BEGIN{system(\"id\")}'",
                             "echo | sed 's/^/id/e'",
                             "git -c alias.x='!id' x",
                             "tar cf /dev/null copied --checkpoint=1 --checkpoint-action=exec=id",
                             "PATH=/usr/bin:/bin id",
                             "exec -a ls id",
                             "cat /usr/bin/id",
                             "ls /usr/bin/id",
                             "command -p id",
                             "hash -p /usr/bin/id ls; ls -d x",
                             "eval i\"\"d",
                             "python3 -c 1"}) {
        const std::string out = s.bash_prints(code);
        INFO(code << " printed " << out);
        CHECK(out.find("uid=") == std::string::npos);
        CHECK(out.find("ELF") == std::string::npos);
        CHECK(out.find("/usr/bin/id") == std::string::npos);
    }
}

TEST_CASE("under an allow-list a copied program cannot be started from any writable place", "[run][alike]")
{
    listed s({"cp", "cat", "ls", "chmod"});
    for (const char* code :
         {"./copied", "cp copied /tmp/x; chmod +x /tmp/x; /tmp/x",
          "cp copied /dev/shm/x; chmod +x /dev/shm/x; /dev/shm/x", "cat copied > y; chmod +x y; ./y", "exec ./copied",
          "/proc/self/cwd/copied", "exec 9<copied; /proc/self/fd/9", "/lib64/ld-linux-x86-64.so.2 ./copied",
          "/lib64/ld-linux-x86-64.so.2 $PWD/copied", "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 ./copied",
          "cp copied /tmp/x; /lib64/ld-linux-x86-64.so.2 /tmp/x",
          "exec 9<copied; /lib64/ld-linux-x86-64.so.2 /proc/self/fd/9",
          "/usr/lib/x86_64-linux-gnu/libc.so.6 ./copied"}) {
        const std::string out = s.bash_prints(code);
        INFO(code << " printed " << out << s.output.err);
        CHECK(out.find("uid=") == std::string::npos);
    }
}

TEST_CASE("under an allow-list no code is loaded from a writable place", "[run][alike]")
{
    listed s({"cp", "ls", "python3"});
    const std::string library = "libz.so.1";
    fs::copy_file("/usr/lib/x86_64-linux-gnu/" + library, s.workspace.path + "/mine.so");
    s.bash_prints("LD_PRELOAD=$PWD/mine.so ls -d .");
    CHECK(s.output.err.find("mine.so") != std::string::npos);
    CHECK(s.bash_prints("enable -f $PWD/mine.so x && echo loaded") == "");
    CHECK(s.python_prints("import ctypes, os\ntry:\n ctypes.CDLL(os.getcwd() + '/mine.so'); print('loaded')\n"
                          "except OSError: print('held')") == "held\n");
}

TEST_CASE("under an allow-list a program in anonymous memory cannot be started", "[run][alike]")
{
    listed s({"python3", "ls"});
    const std::string attempt =
        "import os\n"
        "try:\n fd = os.memfd_create('x', 0)\nexcept OSError: print('held'); raise SystemExit\n"
        "os.write(fd, open('copied', 'rb').read())\n"
        "try: os.execve(fd, ['id'], {})\nexcept OSError: pass\n"
        "try: os.execve(f'/proc/self/fd/{fd}', ['id'], {})\nexcept OSError: print('held')\n";
    CHECK(s.python_prints(attempt) == "held\n");
}

TEST_CASE("under an allow-list /proc/self/exe is only the program that runs already", "[run][alike]")
{
    listed s({"ls"});
    const std::string out = s.bash_prints("exec -a id /proc/self/exe -c 'echo still bash $BASH_VERSION'");
    CHECK(out.starts_with("still bash"));
}

TEST_CASE("an allow-list shows no other program of the host", "[run][alike]")
{
    listed s({"ls", "find"});
    const std::string out = s.bash_prints("find / -type f -perm /111 -path '*bin/*' 2>/dev/null");
    CHECK(out.find("/usr/bin/ls") != std::string::npos);
    for (const char* name : {"/id\n", "/perl", "/python3", "/mount", "/su\n", "/gcc"}) {
        INFO(name << " in " << out);
        CHECK(out.find(name) == std::string::npos);
    }
}
