#include "config/settings.hpp"
#include "runs/bash_manager.hpp"
#include "test/execution/runs/run_support.hpp"

#include <algorithm>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

using namespace cmcp;
using namespace cmcp::test;
using namespace std::chrono_literals;

namespace {

settings allowing(std::vector<std::string> commands)
{
    settings config;
    config.bash_allowed_commands = std::move(commands);
    return config;
}

struct bash_stage : run_stage {
    explicit bash_stage(settings base = allowing({"ls", "cat"})) : config(std::move(base)), bash(config) {}

    awaitable<run_outcome> begin(std::string command, run_options options = {})
    {
        auto request = request_here();
        bash.start(request, std::move(command), options);
        return runs.run(caller(), progress, std::move(request), std::move(options));
    }
    run_outcome run_command(std::string command, run_options options = {})
    {
        auto outcome = run_coroutine(io, begin(std::move(command), std::move(options)));
        bash.explain(outcome);
        return outcome;
    }
    const sandbox::run_request& request() const { return backend.requests.at(0); }

    settings config;
    bash_manager bash;
};

}  // namespace

TEST_CASE("a working folder that is not there is refused before the run waits for a slot")
{
    run_stage stage;
    run_admission full({.at_once = 0, .per_caller = 0, .waiting = 9});
    runner runs(stage.backend, stage.outputs, full, full, stage.pool);
    run_options options;
    options.working_dir = "absent";
    auto request = stage.request_here();
    const auto outcome =
        run_coroutine(stage.io, runs.run(caller(), stage.progress, std::move(request), std::move(options)));
    CHECK(outcome.refused.find("\"absent\" does not exist") != std::string::npos);
}

TEST_CASE("a command is one argument of bash, which reads no start-up file")
{
    bash_stage s;
    s.run_command("echo a; echo b");
    CHECK(s.request().argv ==
          std::vector<std::string>{"/usr/bin/bash", "--norc", "--noprofile", "-c", "--", "echo a; echo b", "bash"});
    CHECK_FALSE(s.request().script.has_value());
    CHECK_FALSE(s.request().input.has_value());
}

TEST_CASE("a long command goes through a descriptor, one that is too long is refused")
{
    bash_stage s;
    const std::string command = "echo " + std::string(200'000, 'x');
    s.run_command(command);
    CHECK(s.request().script == command);
    for (const auto& argument : s.request().argv) CHECK(argument.size() < 1000);
    CHECK(bash_manager::problem(command).empty());
    CHECK(bash_manager::problem(std::string(3'000'000, 'A')).starts_with("command:"));
}

TEST_CASE("a NUL in a command is refused by name")
{
    CHECK(bash_manager::problem(std::string("echo a\0b", 8)) == "command: must not contain a NUL character");
}

TEST_CASE("the programs of a run are those of BASH_ALLOWED_COMMANDS")
{
    bash_stage some;
    some.run_command("ls");
    CHECK_FALSE(some.request().programs.all);
    CHECK(some.request().programs.names == std::vector<std::string>{"ls", "cat"});
    bash_stage all(allowing({"*"}));
    all.run_command("ls");
    CHECK(all.request().programs.all);
    const auto& variables = all.request().environment;
    CHECK(std::none_of(variables.begin(), variables.end(),
                       [](const auto& each) { return each.first.starts_with("BASH_FUNC_"); }));
}

TEST_CASE("exit code 127 under an allow-list names the setting once")
{
    bash_stage s;
    s.backend.result = scripted_backend::ended(127);
    s.backend.prints = {{sandbox::stream::err, "env: 'id': No such file or directory"}};
    CHECK(s.run_command("env id").err ==
          "env: 'id': No such file or directory\n(BASH_ALLOWED_COMMANDS lists what may run: ls cat)\n");
    s.backend.prints = {{sandbox::stream::err, "bash: id: not an allowed command (BASH_ALLOWED_COMMANDS ...)\n"}};
    CHECK(s.run_command("id").err == "bash: id: not an allowed command (BASH_ALLOWED_COMMANDS ...)\n");
    const std::string list = " (BASH_ALLOWED_COMMANDS lists what may run: ls cat)\n";
    s.backend.result = scripted_backend::ended(0);
    s.backend.prints = {{sandbox::stream::err, "a" + list + "b" + list + "c\nd" + list}};
    CHECK(s.run_command("a; b; c; d").err == "a" + list + "b\nc\nd\n");
}

TEST_CASE("a command whose lines all end as those of Windows has lines of its own kind")
{
    const auto command_of = [](const std::string& windows_text) {
        bash_stage s;
        s.run_command(windows_text);
        return s.request().argv.at(5);
    };
    CHECK(command_of("if true\r\nthen echo a\r\nfi\r\n") == "if true\nthen echo a\nfi\n");
    CHECK(command_of("echo a\r\necho b") == "echo a\necho b");
    CHECK(command_of("echo a\r") == "echo a");
    CHECK(command_of("printf 'a\rb'\r\nls\r") == "printf 'a\rb'\nls");
    CHECK(command_of("cat > a <<E\nx\r\nE\n") == "cat > a <<E\nx\r\nE\n");
    CHECK(command_of("\r\n") == "\n");
}

TEST_CASE("a program that is allowed but not installed is told apart from one that is not allowed")
{
    bash_stage s(allowing({"cat", "no-such-program"}));
    s.run_command("x");
    const auto& environment = s.request().environment;
    const auto entry = std::find_if(environment.begin(), environment.end(),
                                    [](const auto& each) { return each.first.starts_with("BASH_FUNC_"); });
    REQUIRE(entry != environment.end());
    const std::string handler = entry->second;
    CHECK(handler.find("case ' no-such-program '") != std::string::npos);
    s.backend.result = scripted_backend::ended(127);
    const std::string said = "bash: no-such-program: allowed, but not installed on the server; install the package\n";
    s.backend.prints = {{sandbox::stream::err, said}};
    CHECK(s.run_command("no-such-program").err == said);
}

TEST_CASE("the time limit is the argument, or the default, at most the maximum")
{
    CHECK(chosen_timeout(std::nullopt, 30s, 120s) == 30s);
    CHECK(chosen_timeout(0.5, 30s, 120s) == 500ms);
    CHECK(chosen_timeout(1e-9, 30s, 120s) == 1ms);
    CHECK(chosen_timeout(999999999, 30s, 120s) == 120s);
    CHECK(chosen_timeout(1e300, 30s, 120s) == 120s);
    CHECK(chosen_timeout(std::nullopt, 30s, 5s) == 5s);
}

TEST_CASE("working_dir is relative to the working folder or absolute inside")
{
    bash_stage s;
    std::filesystem::create_directories(s.files / "a/b");
    const auto folder_of = [&](std::string working_dir) {
        s.backend.requests.clear();
        run_options options;
        options.working_dir = std::move(working_dir);
        const run_outcome outcome = s.run_command("pwd", options);
        return s.backend.requests.empty() ? outcome.refused : s.request().working_dir;
    };
    CHECK(folder_of("") == "/workspace");
    CHECK(folder_of("a/b") == "/workspace/a/b");
    CHECK(folder_of("/workspace/a") == "/workspace/a");
    CHECK(folder_of("/tmp") == "/tmp");
    CHECK(folder_of("missing").find("working_dir: \"missing\" does not exist") == 0);
    CHECK(folder_of(std::string("a\0b", 3)) == "working_dir: must not contain a NUL character");
}

TEST_CASE("a run's progress is complete and ends before its result")
{
    bash_stage s;
    for (int i = 0; i < 100; ++i) s.backend.prints.emplace_back(sandbox::stream::out, "line\n");
    s.backend.prints.emplace_back(sandbox::stream::err, "\xE2\x82");
    s.run_command("x");
    std::string expected;
    for (int i = 0; i < 100; ++i) expected += "line\n";
    CHECK(s.progress.all() == expected + "\xEF\xBF\xBD");
}

TEST_CASE("a cancelled run whose caller does not read ends")
{
    bash_stage s;
    s.progress.full = true;
    s.backend.prints.assign(3, {sandbox::stream::out, std::string(1 << 20, 'x')});
    asio::cancellation_signal cancel;
    bool ended = false;
    asio::co_spawn(s.io, s.begin("x"),
                   asio::bind_cancellation_slot(
                       cancel.slot(), [&](std::exception_ptr e, const run_outcome&) { ended = e != nullptr; }));
    while (s.progress.messages.empty()) s.io.run_one();
    cancel.emit(asio::cancellation_type::terminal);
    while (!ended && s.io.run_one() != 0) {
    }
    CHECK(ended);
    CHECK(s.admission.running() == 0);
}
