#include "test/tools/sandbox_support.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

struct command_shell_stage : sandbox_stage {
    using sandbox_stage::sandbox_stage;
    json::object run(std::string command, json::object more = {})
    {
        more["sandbox_id"] = id;
        more["command"] = command;
        more["shell"] = true;
        return tool("execute_terminal_command", std::move(more));
    }
    std::string id = create();
};

settings one_shell()
{
    settings config = all_programs();
    config.shells_per_caller = 1;
    return config;
}

}  // namespace

TEST_CASE("commands in a sandbox's shell keep folder, variables and functions, and have their own outputs")
{
    command_shell_stage s;
    CHECK(text(s.run("mkdir -p sub && cd sub && export NAME='a b' && f() { echo \"f $1\"; }; local_one=1"), "stdout")
              .empty());
    auto result = s.run("pwd; f \"$NAME$local_one\"; printf 'no line'; echo err >&2; (exit 7)");
    CHECK(text(result, "stdout") == "/app/results/sub\nf a b1\nno line");
    CHECK(text(result, "stderr") == "err\n");
    CHECK(result.at("exit_code") == 7);
    CHECK(text(result, "cause") == "exited");
    CHECK_FALSE(result.contains("note"));
    CHECK(text(s.run("echo 'it''s' \\\\ \"$(printf '%s' \"x\ny\")\"\necho second"), "stdout") ==
          "its \\ x\ny\nsecond\n");
    CHECK(text(s.run("cat; test -t 0 || echo no terminal; ls /proc/self/fd | tr '\\n' ' '"), "stdout") ==
          "no terminal\n0 1 2 3 ");
    CHECK(text(s.run("exec >/dev/null 2>&1"), "stdout").empty());
    CHECK(text(s.run("echo back; echo too >&2"), "stderr") == "too\n");
    CHECK(s.run("if then").at("exit_code") == 2);
    CHECK(text(s.run("pwd", {{"working_dir", "sub"}}), "stdout") == "/app/results/sub\n");
    CHECK(text(s.shell_in(s.id, "pwd"), "stdout") == "/app/results\n");
    CHECK(strings(s.run("echo 1 > made.txt"), "files") == std::vector<std::string>{"sub/made.txt"});
}

TEST_CASE("a command that is too late is interrupted, and the shell goes on")
{
    command_shell_stage s;
    s.run("x=kept");
    for (const char* endless : {"sleep 1000; echo after", "while :; do :; done", "while :; do sleep 0.05; done",
                                "(trap '' INT; sleep 1000)"}) {
        const auto late = s.run(endless, {{"timeout", 0.5}});
        INFO(endless << json::serialize(late));
        CHECK(text(late, "cause") == "timeout");
        CHECK(late.at("success") == false);
        CHECK(text(late, "note").find("goes on") != std::string::npos);
        CHECK(text(late, "stdout").find("after") == std::string::npos);
        CHECK(text(s.run("echo $x"), "stdout") == "kept\n");
    }
    const auto stubborn = s.run("trap '' INT QUIT; while :; do :; done", {{"timeout", 0.5}});
    CHECK(text(stubborn, "cause") == "timeout");
    CHECK(text(stubborn, "note").find("did not let itself be interrupted") != std::string::npos);
    CHECK(text(s.run("echo \"[$x]\""), "stdout") == "[]\n");
}

TEST_CASE("a shell that a command ends is told, and the next call starts another")
{
    command_shell_stage s;
    const auto result = s.run("x=1; echo last; exit 5");
    CHECK(result.at("exit_code") == 5);
    CHECK(text(result, "stdout") == "last\n");
    CHECK(text(result, "note").find("The next call starts another one") != std::string::npos);
    CHECK(text(s.run("echo \"[$x]\""), "stdout") == "[]\n");
    const auto killed = s.run("kill -9 $$");
    CHECK(text(killed, "cause") == "signalled");
    CHECK(s.run("true").at("exit_code") == 0);
}

TEST_CASE("background jobs of a sandbox's shell go on between calls")
{
    command_shell_stage s;
    s.run("(sleep 0.1; echo done > later) & echo begun");
    CHECK(text(s.last.structured, "stdout") == "begun\n");
    CHECK(text(s.run("wait; cat later"), "stdout") == "done\n");
}

TEST_CASE("the longest unused shell of a caller gives way to another one")
{
    command_shell_stage s{one_shell()};
    s.run("x=1");
    const std::string first = s.id;
    s.id = s.create();
    CHECK(text(s.run("echo \"[$x]\"; y=2"), "stdout") == "[]\n");
    CHECK(text(s.run("echo \"[$y]\""), "stdout") == "[2]\n");
    s.id = first;
    CHECK(text(s.run("echo \"[$x]\""), "stdout") == "[]\n");
    CHECK(s.run(std::string(2 << 20, 'x')).at("success") == false);
    s.tool("delete_sandbox", {{"sandbox_id", s.id}});
    CHECK(text(s.run("true"), "error_type") == "NotFound");
}

TEST_CASE("output without end ends a sandbox's shell alone")
{
    settings config = all_programs();
    config.output_hard_limit = 1 << 20;
    command_shell_stage s{config};
    CHECK(text(s.run("yes"), "cause") == "output_limit");
    CHECK(text(s.run("echo serves"), "stdout") == "serves\n");
}
