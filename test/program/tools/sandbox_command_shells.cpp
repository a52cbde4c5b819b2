#include "test/program/tools/sandbox_support.hpp"

#include "config/settings.hpp"

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
    config.auth_quotas = {"*:shells=1"};
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

TEST_CASE("what an earlier command was refused is not told of the one with which the shell ends")
{
    command_shell_stage s;
    s.run("curl -s -m 5 http://example.org; exec 3<>/dev/udp/192.0.2.1/53; true");
    const auto ended = s.run("exit 3");
    CHECK(ended.at("exit_code") == 3);
    CHECK_FALSE(ended.contains("denied"));
    CHECK(text(ended, "note").find("programs that it ran with &") != std::string::npos);
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

TEST_CASE("the state of a sandbox's shell is its user's alone")
{
    command_shell_stage s;
    const auto err_of = [&](const char* command) { return text(s.run(command), "stderr"); };
    s.run("false");
    CHECK(text(s.run("echo $?"), "stdout") == "1\n");
    CHECK(text(s.run("true | (exit 4)"), "stdout").empty());
    CHECK(text(s.run("echo $? ${PIPESTATUS[*]}"), "stdout") == "4 0 4\n");
    CHECK(err_of("set -x; : one") == "+ : one\n");
    CHECK(err_of(": two") == "+ : two\n");
    CHECK(err_of("set +x; set -v") == "+ set +x\n");
    CHECK(err_of(": 'a\nb'") == ": 'a\nb'\n");
    CHECK(err_of("set +v") == "set +v\n");
    s.run("trap 'echo debug' DEBUG");
    CHECK(text(s.run(": one\n: two"), "stdout") == "debug\ndebug\n");
    s.run("trap - DEBUG; trap 'echo \"failed: $BASH_COMMAND\"' ERR");
    CHECK(text(s.run("test -e /none"), "stdout") == "failed: test -e /none\n");
    s.run("trap - ERR; trap 'echo left' EXIT; f() { return 3; }; trap 'echo back' RETURN");
    CHECK(text(s.run("echo in"), "stdout") == "in\n");
    s.run("trap - EXIT RETURN");
    for (const char* prompt :
         {"PROMPT_COMMAND='echo prompted'; PS1='(w) ' PS2='> '", "unset PROMPT_COMMAND PS1", "PS0=zero"}) {
        INFO(prompt);
        CHECK(s.run(prompt).at("exit_code") == 0);
        CHECK(s.run("if true\nthen echo 'a\nb'\nfi").at("stdout") == "a\nb\n");
        CHECK(text(s.last.structured, "stderr").empty());
    }
    s.run(
        "shopt -s expand_aliases; alias greet='echo hello'; set -o vi; ulimit -n 8; exec 3>&- 9>&-; readonly fixed=1");
    CHECK(text(s.run("greet $fixed; set -o emacs"), "stdout") == "hello 1\n");
    CHECK(text(s.run("echo $LINENO\necho $LINENO"), "stdout") == "1\n2\n");
    s.run("true 1 last");
    CHECK(text(s.run("echo $_"), "stdout") == "last\n");
    CHECK(text(s.run("echo a!b \"c!!d\""), "stdout") == "a!b c!!d\n");
    CHECK(text(s.run("env; set"), "stdout").find("LD_PRELOAD") == std::string::npos);
}

TEST_CASE("the history of a sandbox's shell has the user's lines, and no file unless it is wanted")
{
    command_shell_stage s;
    s.run("echo remembered");
    CHECK(text(s.run("history"), "stdout") == "    1  echo remembered\n    2  history\n");
    s.run("exit");
    CHECK(text(s.run("ls -A"), "stdout").empty());
    s.run("HISTFILE=$PWD/lines; echo kept; history -w");
    CHECK(text(s.run("cat lines"), "stdout").find("echo kept; history -w\n") != std::string::npos);
}

TEST_CASE("a command that set -e or an error ends leaves the shell as it was")
{
    command_shell_stage s;
    s.run("mkdir -p sub; cd sub; export x=kept; f() { local y=1; false; echo not reached; }; set -e");
    const auto failed = s.run("f; echo not reached");
    CHECK(failed.at("exit_code") == 1);
    CHECK(text(failed, "stdout").empty());
    CHECK(text(failed, "note").find("set -e ended the command") != std::string::npos);
    CHECK(text(s.run("echo $? $x $y; pwd; set +e"), "stdout") == "1 kept\n/app/results/sub\n");
    CHECK(s.run("set -u; echo \"$none\"").at("exit_code") == 1);
    CHECK(text(s.run("set +u; : ${none?is not set}"), "stderr").find("is not set") != std::string::npos);
    for (const char* wrong : {"echo \"open", "echo 'open", "if true; then", "echo $(", "case x in", "f() {", "done"}) {
        INFO(wrong);
        CHECK(s.run(wrong).at("exit_code") == 2);
        CHECK(text(s.last.structured, "stderr").find("bash: ") == 0);
        CHECK(text(s.run("echo $x"), "stdout") == "kept\n");
    }
    CHECK(text(s.run("cat <<END\nno end"), "stdout") == "no end\n");
    CHECK(s.run("# nothing").at("exit_code") == 0);
    const auto away = s.run("exec >aside; echo aside");
    CHECK(text(away, "note").find("exec sent") != std::string::npos);
    CHECK(text(s.run("cat aside"), "stdout") == "aside\n");
    CHECK(text(s.run("cd /nowhere-at-all", {{"working_dir", "no-such-folder"}}), "stderr").find("no-such-folder") !=
          std::string::npos);
}

TEST_CASE("a virtual environment leaves the outputs of a sandbox's shell alone")
{
    command_shell_stage s;
    s.run(
        "mkdir -p w/bin; printf '_OLD_PS1=\"${PS1:-}\"\\nPS1=\"(w) ${PS1:-}\"\\nexport PS1\\nhash -r\\n' > "
        "w/bin/activate");
    s.run(". w/bin/activate");
    for (int i = 0; i < 5; ++i) CHECK(text(s.run("echo in"), "stderr").empty());
}

TEST_CASE("what jobs of a sandbox's shell print between its commands is in the next note")
{
    command_shell_stage s;
    CHECK_FALSE(
        s.run("PS1='> '; { while [ ! -e go ]; do sleep 0.01; done; echo late é; touch printed; } &").contains("note"));
    s.shell_in(s.id, "touch go; while [ ! -e printed ]; do sleep 0.01; done");
    const auto result = s.run("echo own");
    CHECK(text(result, "stdout").ends_with("own\n"));
    const bool was_between = text(result, "note") == "Jobs have printed since the command before: late é";
    CHECK((was_between || text(result, "stdout") == "late é\nown\n"));
    CHECK_FALSE(s.run("wait").contains("note"));
}

TEST_CASE("programs that ignore an interrupt are killed, and the shell and its jobs go on")
{
    command_shell_stage s;
    s.run("x=kept; sleep 1000 & job=$!");
    const auto stubborn = s.run(
        "python3 -c '\nimport signal\nfor one in (signal.SIGINT, signal.SIGQUIT): signal.signal("
        "one, signal.SIG_IGN)\nwhile True: signal.pause()'; echo after",
        {{"timeout", 0.5}});
    CHECK(text(stubborn, "cause") == "timeout");
    CHECK(text(stubborn, "stdout").empty());
    CHECK(text(stubborn, "note").find("goes on") != std::string::npos);
    CHECK(text(s.run("echo $x; kill -0 $job && echo alive; kill $job"), "stdout") == "kept\nalive\n");
}

TEST_CASE("an interrupt reaches a shell that is about to start a program")
{
    command_shell_stage s;
    s.run("x=kept");
    for (int i = 0; i < 8; ++i) {
        s.run("while :; do /bin/true; done", {{"timeout", 0.1 + i * 0.003}});
        CHECK(text(s.last.structured, "note").find("goes on") != std::string::npos);
        CHECK(text(s.run("echo $x"), "stdout") == "kept\n");
    }
}
