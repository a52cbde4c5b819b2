#include "test/program/tools/sandbox_support.hpp"

#include "config/settings.hpp"
#include "test/support/eventually.hpp"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace cmcp;
using namespace cmcp::test;

namespace {

/// A sandbox and a shell in it.
struct shell_stage : sandbox_stage {
    using sandbox_stage::sandbox_stage;

    std::string open(json::object more = {})
    {
        more["sandbox_id"] = id;
        return text(tool("shell_open", std::move(more)), "shell_id");
    }
    json::object send(json::object more)
    {
        more["shell_id"] = shell;
        return tool("shell_send", std::move(more));
    }
    json::object read(json::object more = {})
    {
        more["shell_id"] = shell;
        return tool("shell_read", std::move(more));
    }
    /// The output of a command; its last line is made by the shell, so the echo of the typing does not hold it.
    std::string shown(const std::string& command)
    {
        const auto sent = send({{"text", command + "; echo en\"\"d\n"}});
        const auto answer = read({{"cursor", sent.at("cursor")}, {"wait_for", "\nend"}, {"timeout", 30}});
        CHECK(answer.at("matched") == true);
        return text(answer, "text");
    }
    std::string id = create();
    std::string shell = open();
};

settings two_shells()
{
    settings config = all_programs();
    config.auth_quotas = {"*:shells=2"};
    config.max_shells = 3;
    return config;
}

settings short_idleness()
{
    settings config = all_programs();
    config.sandbox_idle_timeout = std::chrono::milliseconds(1000);
    return config;
}

}  // namespace

TEST_CASE("a shell keeps folder, variables and functions from call to call")
{
    shell_stage s;
    s.shown("mkdir -p deep/er && cd deep/er && export NAME=value && f() { echo \"f of $NAME\"; }");
    const auto said = s.shown("pwd; f; tty");
    CHECK(said.find("\n/app/results/deep/er\n") != std::string::npos);
    CHECK(said.find("\nf of value\n") != std::string::npos);
    CHECK(said.find("\n/dev/pts/0\n") != std::string::npos);
    const auto closed = s.tool("shell_close", {{"shell_id", s.shell}});
    CHECK(closed.at("running") == false);
    CHECK(text(s.read(), "error_type") == "NotFound");
}

TEST_CASE("the screen of a full-screen program is shown row by row")
{
    shell_stage s;
    const auto rows_of = [](const json::object& shown) {
        const std::string all = text(shown, "text");
        return std::count(all.begin(), all.end(), '\n');
    };
    s.shown("seq 1 100 > numbers");
    s.send({{"text", "less numbers\n"}});
    s.read({{"wait_for", "23"}});
    CHECK(text(s.read({{"screen", true}}), "text").starts_with("1\n2\n3\n"));
    s.send({{"keys", {"page-down"}}});
    s.read({{"wait_for", "46"}});
    s.send({{"keys", {"up"}}});  // scrolls by one row
    s.read({{"wait_for", "23"}});
    const auto scrolled = s.read({{"screen", true}});
    CHECK(text(scrolled, "text").starts_with("23\n24\n25\n"));
    CHECK(rows_of(scrolled) == 24);
    CHECK(scrolled.at("cursor_row") == 24);
    s.send({{"cols", 60}, {"rows", 12}});
    s.read({{"timeout", 2}});
    CHECK(rows_of(s.read({{"screen", true}})) == 12);
    s.send({{"text", "q"}});
    s.send({{"text", "top -d 1000\n"}});
    s.read({{"wait_for", "COMMAND"}});
    const std::string top = text(s.read({{"screen", true}}), "text");
    CHECK(top.starts_with("top - "));
    CHECK(top.find("\n  PID USER") != std::string::npos);
    s.send({{"text", "q"}});
}

TEST_CASE("vim's screen is what it edits")
{
    if (!std::filesystem::exists("/usr/bin/vim")) {
        std::cout << "not tested: vim is not installed\n";
        return;
    }
    shell_stage s;
    s.shown("seq 1 100 > numbers");
    s.send({{"text", "vim -u NONE -N numbers\n"}});
    s.read({{"wait_for", "\"numbers\""}});
    s.send({{"text",
             "50Gzt5ddOnew line\x1b"
             "2jx"}});
    s.send({{"text", ":echo 'se' . 'en'\n"}});
    s.read({{"wait_for", "seen"}});
    const auto shown = s.read({{"screen", true}});
    CHECK(text(shown, "text").starts_with("new line\n55\n5\n57\n"));
    CHECK(shown.at("cursor_row") == 3);
    s.send({{"text", ":q!\n"}});
}

TEST_CASE("vim edits a file in a shell by text and keys")
{
    if (!std::filesystem::exists("/usr/bin/vim")) {
        std::cout << "not tested: vim is not installed\n";
        return;
    }
    shell_stage s;
    s.send({{"text", "vim -u NONE -N note.txt"}, {"keys", {"enter"}}});
    CHECK(s.read({{"wait_for_pattern", "\"note.txt\".*New"}}).at("matched") == true);
    s.send({{"text", "isecond"}, {"keys", {"esc", "O"}}});
    CHECK(s.last.is_error);
    s.send({{"text", "isecond"}, {"keys", {"home", "enter", "up"}}});
    s.send({{"text", "first"}, {"keys", {"esc"}}});
    s.send({{"text", ":wq\n"}});
    CHECK(s.read({{"wait_for", "written"}}).at("matched") == true);
    std::ifstream file(s.files_of(s.id) / "note.txt");
    std::stringstream content;
    content << file.rdbuf();
    CHECK(content.str() == "first\nsecond\n");
}

TEST_CASE("text that is typed in a shell arrives as it is, whoever reads it")
{
    shell_stage s;
    s.shell_in(s.id, "touch long.txt run.sh");
    const std::string tabbed = "if True:\n\tprint('a!b')\n\tfor x in y:\n\t\tl\n";
    s.send({{"text", "cat > here.py <<'END'\n" + tabbed + "END\n"}});
    s.shown("true");
    CHECK(text(s.shell_in(s.id, "cat here.py"), "stdout") == tabbed);
    s.send({{"text", "cat > typed.py\n" + tabbed}, {"keys", json::array{"ctrl-d"}}});
    s.shown("true");
    CHECK(text(s.shell_in(s.id, "cat typed.py"), "stdout") == tabbed);
    const std::string line(9000, 'y');
    s.send({{"text", "cat > lines.txt\n" + line + "\n" + line}, {"keys", json::array{"enter", "ctrl-d"}}});
    s.shown("true");
    CHECK(text(s.shell_in(s.id, "wc -lc < lines.txt | tr -s ' '"), "stdout") == " 2 18002\n");
    CHECK(s.shown("echo \"c!d\" > bang.txt").find("event not found") == std::string::npos);
    CHECK(text(s.shell_in(s.id, "cat bang.txt"), "stdout") == "c!d\n");
}

TEST_CASE("a shell answers ctrl-c, a new size, and its end")
{
    shell_stage s;
    s.send({{"text", "sh -c 'echo be\"\"gun; exec sleep 1000'\n"}});
    CHECK(s.read({{"wait_for", "\nbegun"}}).at("matched") == true);
    s.send({{"keys", {"ctrl-c"}}});
    CHECK(s.shown("echo st=$?").find("\nst=130\n") != std::string::npos);
    CHECK(s.send({{"cols", 132}, {"rows", 43}}).at("success") == true);
    CHECK(s.shown("stty size").find("\n43 132\n") != std::string::npos);
    s.send({{"text", "exit 7\n"}});
    const auto answer = s.read({{"wait_for", "never"}, {"timeout", 30}});
    CHECK(answer.at("running") == false);
    CHECK(answer.at("matched") == false);
    CHECK(answer.at("exit_code") == 7);
    CHECK(text(s.send({{"text", "x"}}), "error_type") == "StateError");
}

TEST_CASE("output without a reader is kept up to a bound, and the loss is told")
{
    shell_stage s;
    const auto sent = s.send({{"text", "seq 200000; echo en\"\"d\n"}});
    CHECK(s.read({{"wait_for", "\nend"}, {"timeout", 60}}).at("matched") == true);
    const auto late = s.read({{"cursor", sent.at("cursor")}, {"max_output", 1000}});
    CHECK(late.at("lost_bytes").to_number<std::int64_t>() > 1'000'000);
    CHECK(late.at("more") == true);
    const auto next = s.read({{"cursor", late.at("cursor")}, {"max_output", 1000}});
    CHECK_FALSE(next.contains("lost_bytes"));
    CHECK(s.read({{"cursor", 1ll << 50}}).at("success") == false);
    const auto raw = s.read({{"cursor", late.at("cursor")}, {"max_output", 1000}, {"raw", true}});
    CHECK(text(raw, "text").find("\r\n") != std::string::npos);
}

TEST_CASE("a program that floods a shell does not keep the server from its work")
{
    shell_stage s;
    s.send({{"text", "yes\n"}});
    const auto waited = s.read({{"wait_for", "never"}, {"timeout", 1}});
    CHECK(waited.at("matched") == false);
    CHECK(text(s.shell_in(s.id, "echo serves"), "stdout") == "serves\n");
    s.send({{"keys", {"ctrl-c"}}});
    CHECK(s.shown("echo again").find("\nagain\n") != std::string::npos);
}

TEST_CASE("a shell is its opener's alone, and so many are open at most")
{
    shell_stage s{two_shells()};
    CHECK(text(s.as("other", "shell_read", {{"shell_id", s.shell}}), "error_type") == "NotFound");
    CHECK(text(s.as("other", "shell_close", {{"shell_id", s.shell}}), "error_type") == "NotFound");
    CHECK(text(s.as("other", "shell_send", {{"shell_id", s.shell}, {"text", "x"}}), "error_type") == "NotFound");
    s.open();
    const auto full = s.tool("shell_open", {{"sandbox_id", s.id}});
    CHECK(text(full, "error").find("AUTH_QUOTAS=*:shells") != std::string::npos);
    const auto theirs = text(s.as("other", "create_sandbox", {}), "sandbox_id");
    CHECK(s.as("other", "shell_open", {{"sandbox_id", theirs}}).at("success") == true);
    const auto more = s.as("other", "shell_open", {{"sandbox_id", theirs}});
    CHECK(text(more, "error").find("SANDBOX_MAX_LIVE") != std::string::npos);
    s.tool("shell_close", {{"shell_id", s.shell}});
    CHECK(s.tool("shell_open", {{"sandbox_id", s.id}}).at("success") == true);
}

TEST_CASE("a shell ends with its sandbox, and unused")
{
    shell_stage s{short_idleness()};
    s.tool("delete_sandbox", {{"sandbox_id", s.id}});
    CHECK(text(s.read(), "error_type") == "NotFound");
    s.id = s.create();
    s.shell = s.open();
    CHECK(eventually(s.io, [&] { return s.all->shells->living() == 0; }));
    CHECK(text(s.read(), "error_type") == "NotFound");
}

TEST_CASE("a shell refuses what it cannot type or wait for, and says what to do")
{
    shell_stage s;
    CHECK(text(s.send({}), "error").find("text or keys") != std::string::npos);
    CHECK(text(s.send({{"keys", {"hyper-x"}}}), "error").find("There is no key") != std::string::npos);
    CHECK(text(s.read({{"wait_for_pattern", "("}}), "error").find("regular expression") != std::string::npos);
    CHECK(text(s.read({{"wait_for_pattern", "a"}, {"wait_for", "b"}}), "error").find("not both") != std::string::npos);
    CHECK(text(s.tool("shell_open", {{"sandbox_id", "nowhere"}}), "error_type") == "NotFound");
}
