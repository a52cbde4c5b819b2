#include "test/program/tools/system_support.hpp"

#include "config/settings.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <fstream>

using namespace cmcp;
using namespace cmcp::test;
namespace fs = std::filesystem;

namespace {

settings only(std::vector<std::string> names)
{
    settings config;
    config.bash_allowed_commands = std::move(names);
    return config;
}

}  // namespace

TEST_CASE("a command's output, exit code and success come back")
{
    system_stage s;
    const auto result = s.bash("echo out; echo err >&2; exit 3");
    CHECK(text(result, "stdout") == "out\n");
    CHECK(text(result, "stderr") == "err\n");
    CHECK(result.at("exit_code") == 3);
    CHECK(result.at("success") == false);
    CHECK(text(result, "cause") == "exited");
    CHECK(result.at("duration_ms").as_double() > 0);
    CHECK(result.at("stdout_truncated") == false);
    CHECK_FALSE(s.last.is_error);
    CHECK(s.bash("true").at("success") == true);
}

TEST_CASE("a command that takes too long is ended and what it printed is kept")
{
    system_stage s;
    const auto result = s.bash("echo before; sleep 60", {{"timeout", 0.3}});
    CHECK(text(result, "stdout") == "before\n");
    CHECK(text(result, "cause") == "timeout");
    CHECK(result.at("success") == false);
    CHECK(text(result, "error").find("Timed out after 0.3 s") == 0);
    CHECK(s.last.is_error);
}

TEST_CASE("death by a signal is reported and is no error of the tool")
{
    system_stage s;
    const auto result = s.bash("kill -SEGV $$");
    CHECK(result.at("exit_code") == 139);
    CHECK(result.at("signal") == 11);
    CHECK(text(result, "cause") == "signalled");
    CHECK_FALSE(s.last.is_error);
}

TEST_CASE("a program that is not allowed gives 127 and names the setting")
{
    system_stage s(only({"ls", "cat", "env", "find", "echo"}));
    for (const char* command :
         {"id", "echo a; id", "echo $(id); id", "/usr/bin/id", "env id", "exec id", "$'\\x69d'"}) {
        const auto result = s.bash(command);
        INFO(command << "\n" << json::serialize(result));
        CHECK(result.at("exit_code") == 127);
        CHECK(text(result, "stderr").find("BASH_ALLOWED_COMMANDS") != std::string::npos);
        CHECK(text(result, "stdout").find("uid=") == std::string::npos);
        CHECK_FALSE(s.last.is_error);
    }
    CHECK(text(s.bash("find . -maxdepth 0 -exec id \\;"), "stdout").find("uid=") == std::string::npos);
    CHECK(text(s.bash("echo fine | cat"), "stdout") == "fine\n");
}

TEST_CASE("a program that is allowed but not on this machine says so, and not that it is forbidden")
{
    system_stage s(only({"echo", "no-such-program"}));
    const auto result = s.bash("no-such-program || (no-such-program)");
    INFO(json::serialize(result));
    CHECK(result.at("exit_code") == 127);
    CHECK(text(result, "stderr").find("bash: no-such-program: allowed, but not installed on the server; install") == 0);
    CHECK(text(result, "stderr").find("lists what may run") == std::string::npos);
}

TEST_CASE("with all programs allowed bash speaks for itself")
{
    system_stage s;
    const auto result = s.bash("no-such-program");
    CHECK(result.at("exit_code") == 127);
    CHECK(text(result, "stderr") == "bash: line 1: no-such-program: command not found\n");
}

TEST_CASE("start-up files in the working folder do not run")
{
    system_stage s;
    s.bash("for f in .bashrc .bash_profile .profile .bash_login .bash_env; do echo 'echo started' > $f; done");
    CHECK(text(s.bash("echo only"), "stdout") == "only\n");
}

TEST_CASE("a long command runs like a short one and leaves no descriptor open")
{
    system_stage s;
    const std::string command = "x=" + std::string(300'000, 'a') + "\necho ${#x} $0; ls /proc/self/fd | wc -l; exit 5";
    const auto result = s.bash(command);
    CHECK(text(result, "stdout") == "300000 bash\n4\n");
    CHECK(result.at("exit_code") == 5);
    CHECK(text(s.bash("ls /proc/self/fd | wc -l"), "stdout") == "4\n");
    s.bash(std::string(3'000'000, 'A'));
    CHECK(s.last.is_error);
    CHECK(text(s.last.structured, "error").find("command:") == 0);
}

TEST_CASE("a command starts in its working_dir")
{
    system_stage s;
    CHECK(text(s.bash("pwd; mkdir -p a/b; echo $HOME"), "stdout") == "/app/results\n/app/results\n");
    CHECK(text(s.bash("pwd", {{"working_dir", "a/b"}}), "stdout") == "/app/results/a/b\n");
    CHECK(text(s.bash("pwd", {{"working_dir", "/tmp"}}), "stdout") == "/tmp\n");
    s.bash("pwd", {{"working_dir", "missing"}});
    CHECK(s.last.is_error);
    s.bash("pwd", {{"working_dir", "/no/such/folder"}});
    CHECK(s.last.is_error);
    CHECK_FALSE(text(s.last.structured, "error").empty());
}

TEST_CASE("binary output becomes valid text")
{
    system_stage s;
    const auto result = s.bash("printf 'a\\377\\000b\\342\\202'");
    CHECK(text(result, "stdout") == std::string("a\xEF\xBF\xBD\0b\xEF\xBF\xBD", 9));
}

TEST_CASE("long output can be read as a file of the sandbox")
{
    system_stage s;
    const auto result = s.bash("seq 100000", {{"max_output", 1000}});
    CHECK(result.at("stdout_truncated") == true);
    CHECK(text(result, "stdout").size() < 1200);
    CHECK(text(result, "stdout").find("1\n2\n3\n") == 0);
    CHECK(text(result, "output_uri").starts_with("sandbox://sbx_"));
    CHECK(text(result, "output_uri").ends_with("/" + text(result, "output_path")));
    CHECK(fs::file_size(s.workspace() / text(result, "output_path")) == 588895);
    CHECK(text(s.bash("tail -n 1 " + text(result, "output_path")), "stdout") == "100000\n");
}

TEST_CASE("output without end is stopped")
{
    settings config = all_programs();
    config.output_hard_limit = 1 << 20;
    system_stage s(config);
    const auto result = s.bash("yes");
    CHECK(text(result, "cause") == "output_limit");
    CHECK(s.last.is_error);
    CHECK(fs::file_size(s.workspace() / text(result, "output_path")) <= (2u << 20));
}

TEST_CASE("output streams while the command runs, in order and complete")
{
    system_stage s;
    const auto result = s.bash("for i in 1 2 3; do echo $i; sleep 0.1; done");
    CHECK(s.progress.all() == text(result, "stdout"));
    CHECK(s.progress.messages.size() == 3);
}

TEST_CASE("a cancelled command is gone")
{
    system_stage s;
    asio::cancellation_signal cancel;
    bool ended = false;
    asio::co_spawn(s.io, s.start("system_run_command", {{"command", "echo up; sleep 60; touch late"}}),
                   asio::bind_cancellation_slot(
                       cancel.slot(), [&](std::exception_ptr e, const tool_result&) { ended = e != nullptr; }));
    while (s.progress.messages.empty()) s.io.run_one();
    cancel.emit(asio::cancellation_type::terminal);
    while (!ended && s.io.run_one() != 0) {
    }
    CHECK(ended);
    CHECK(text(s.bash("echo next"), "stdout") == "next\n");
}

TEST_CASE("one caller's many runs do not hold up another's")
{
    system_stage s;
    caller many, other;
    many.session = "many";
    other.session = "other";
    std::size_t done = 0;
    for (int i = 0; i < 20; ++i)
        asio::co_spawn(s.io, s.start("system_run_command", {{"command", "sleep 2"}}, many),
                       [&](std::exception_ptr, const tool_result&) { ++done; });
    const auto quick = run_coroutine(s.io, s.start("system_run_command", {{"command", "echo quick"}}, other));
    CHECK(text(quick.structured, "stdout") == "quick\n");
    CHECK(done < 20);
    while (done < 20 && s.io.run_one() != 0) {
    }
    CHECK(done == 20);
}

TEST_CASE("arguments that do not fit are named")
{
    system_stage s;
    CHECK(s.registry.validate("system_run_command", {}).find("command") != std::string::npos);
    CHECK(s.registry.validate("system_run_command", {{"command", json::array()}}).find("command") != std::string::npos);
    CHECK(s.registry.validate("system_run_command", {{"command", "x"}, {"timeout", -1}}).find("timeout") !=
          std::string::npos);
    CHECK(s.registry.validate("system_run_command", {{"command", "x"}, {"timeout", 0}}).find("timeout") !=
          std::string::npos);
    CHECK(s.registry.validate("system_run_command", {{"cmd", "x"}})
              .find("`cmd` is not known; for example: {\"command\":") != std::string::npos);
    CHECK(s.registry.validate("system_run_command", {{"command", "x"}, {"max_output", -1}}).find("max_output") !=
          std::string::npos);
}
