#include "config/settings.hpp"
#include "sandboxes/language_trials.hpp"
#include "test/program/tools/sandbox_support.hpp"

#include <fstream>

using namespace cmcp;
using namespace cmcp::test;

TEST_CASE("the interpreter's tools know one sandbox of each caller")
{
    sandbox_stage s;
    auto result = s.tool("execute_code", {{"code", "print(1)"}});
    CHECK(text(result, "status") == "error");
    CHECK(text(result, "error_type") == "StateError");
    CHECK(text(result, "message").find("initialize_sandbox") != std::string::npos);
    const auto sandbox = s.tool("initialize_sandbox", {{"image", "alpine:latest"}});
    CHECK(text(sandbox, "status") == "success");
    CHECK(text(s.tool("initialize_sandbox"), "container_id") == text(sandbox, "container_id"));
    result = s.tool("execute_code", {{"code", "import sys\nprint(1)\nprint(2, file=sys.stderr)\nprint(3)"}});
    CHECK(text(result, "status") == "success");
    CHECK(text(result, "output") == "1\n2\n3\n");
    CHECK(result.at("exit_code") == 0);
    result = s.tool("execute_code", {{"code", "raise SystemExit(3)"}});
    CHECK(text(result, "status") == "error");
    CHECK(text(result, "error_type") == "ExecutionError");
    CHECK(text(result, "message") == "Execution failed with exit code 3");
    CHECK(result.at("exit_code") == 3);
    CHECK_FALSE(s.last.is_error);
    CHECK(text(s.as("bob", "execute_code", {{"code", "1"}}), "error_type") == "StateError");
    result = s.tool("stop_sandbox");
    CHECK(text(result, "status") == "success");
    CHECK(text(result, "message") == "Sandbox stopped and removed.");
    CHECK(text(s.tool("execute_code", {{"code", "1"}}), "error_type") == "StateError");
}

TEST_CASE("in a sandbox a missing module brings a hint to the tool that installs it")
{
    sandbox_stage s;
    const auto sandbox = s.tool("initialize_sandbox");
    const std::string expected =
        "There is no module no_such_module here: install_packages_in_sandbox with no_such_module brings it, if it is a "
        "package.";
    const json::object code{{"code", "import no_such_module"}};
    CHECK(text(s.tool("execute_code", code), "hint") == expected);
    for (const bool stateful : {false, true}) {
        auto arguments = code;
        arguments["sandbox_id"] = sandbox.at("container_id");
        arguments["stateful"] = stateful;
        const auto result = s.tool("execute_python_code", arguments);
        INFO(json::serialize(result));
        CHECK(text(result, "hint") == expected);
    }
    CHECK_FALSE(s.tool("execute_code", {{"code", "print(1)"}}).contains("hint"));
}

TEST_CASE("sessions without authentication do not share the interpreter's sandbox")
{
    sandbox_stage s;
    const auto in_session = [&](const char* session, std::string name, json::object arguments) {
        caller who;
        who.session = session;
        return run_coroutine(s.io, s.start(std::move(name), std::move(arguments), std::move(who)),
                             std::chrono::seconds(60))
            .structured;
    };
    const auto first = text(in_session("one", "initialize_sandbox", {}), "container_id");
    CHECK(text(in_session("two", "execute_code", {{"code", "1"}}), "error_type") == "StateError");
    CHECK(text(in_session("two", "initialize_sandbox", {}), "container_id") != first);
    CHECK(text(in_session("one", "execute_code", {{"code", "print(7)"}}), "output") == "7\n");
}

namespace {

/// Calls in sessions that end.
struct session_stage : sandbox_stage {
    static caller in(std::string session, std::string principal = {})
    {
        caller who;
        who.principal = std::move(principal);
        who.session = std::move(session);
        who.session_ends = true;
        return who;
    }
    std::string call_in(const caller& who, std::string tool, std::string field)
    {
        return text(run_coroutine(io, start(std::move(tool), {}, who)).structured, field);
    }
    std::string initialize(const caller& who) { return call_in(who, "initialize_sandbox", "container_id"); }
    bool there(const std::string& id) const { return fs::exists(files_of(id)); }
    void until_gone(const std::string& id)
    {
        io.restart();
        while (there(id)) REQUIRE(io.run_one() == 1);
    }
    // Ends where everything waits for something.
    void settle()
    {
        io.restart();
        io.poll();
    }
};

}  // namespace

TEST_CASE("the sandbox of initialize_sandbox ends with its session, and no other does")
{
    session_stage s;
    const auto one = s.in("one"), two = s.in("two");
    const auto first = s.initialize(one), second = s.initialize(two);
    const auto created = s.call_in(one, "create_sandbox", "sandbox_id");
    caller no_end = s.in("stdio");
    no_end.session_ends = false;
    const auto lasting = s.initialize(no_end);
    s.all->sandboxes->end_session(one);
    s.until_gone(first);
    s.all->sandboxes->end_session(no_end);
    s.settle();
    for (const auto& id : {second, created, lasting}) CHECK(s.there(id));
    CHECK(s.all->sandboxes->store().passing().size() == 1);
}

TEST_CASE("what goes on in a session's sandbox may end before the sandbox does")
{
    session_stage s;
    const auto one = s.in("one");
    const auto id = s.initialize(one);
    auto job = s.all->sandboxes->enter(s.all->sandboxes->find(one, id));
    s.all->sandboxes->end_session(one);
    s.settle();
    CHECK(s.all->sandboxes->store().passing().size() == 1);
    CHECK(s.there(id));
    job.reset();
    s.until_gone(id);
}

TEST_CASE("a sandbox that a further session of its principal initializes ends with that one")
{
    session_stage s;
    const auto one = s.in("one", "ann"), two = s.in("two", "ann");
    const auto id = s.initialize(one);
    CHECK(s.initialize(two) == id);
    s.all->sandboxes->end_session(one);
    s.settle();
    CHECK(s.all->sandboxes->store().passing().size() == 1);
    CHECK(s.there(id));
    s.all->sandboxes->end_session(two);
    s.until_gone(id);
}

TEST_CASE("code runs in every language that is installed; an unknown one lists the known")
{
    sandbox_stage s;
    run_coroutine(s.io, s.all->languages->run(), std::chrono::seconds(600));
    s.tool("initialize_sandbox");
    const std::vector<std::pair<std::string, std::string>> programs{
        {"python", "print('hi')"},
        {"bash", "echo hi"},
        {"sh", "echo hi"},
        {"perl", "print \"hi\\n\";"},
        {"javascript", "console.log('hi')"},
        {"ruby", "puts 'hi'"},
        {"lua", "print('hi')"},
        {"php", "echo \"hi\\n\";"},
        {"c", "#include <stdio.h>\nint main(void) { puts(\"hi\"); }"},
        {"c++", "#include <cstdio>\nint main() { std::puts(\"hi\"); }"},
        {"go", "package main\nimport \"fmt\"\nfunc main() { fmt.Println(\"hi\") }"},
        {"rust", "fn main() { println!(\"hi\"); }"},
        {"awk", "BEGIN { print \"hi\" }"},
        {"sql", "select 'hi'"},
        {"r", "cat('hi\\n')"},
        {"java", "class Main { public static void main(String[] a) { System.out.println(\"hi\"); } }"},
        {"pascal", "begin writeln('hi') end."}};
    const auto known = text(s.tool("execute_code", {{"code", "1"}, {"language", "klingon"}}), "message");
    CHECK(known.find("python") != std::string::npos);
    for (const auto& [language, code] : programs) {
        if ((known + ",").find(" " + language + ",") == std::string::npos && !known.ends_with(" " + language + "."))
            continue;
        INFO(language);
        const auto result = s.tool("execute_code", {{"code", code}, {"language", language}});
        INFO(text(result, "output"));
        CHECK(text(result, "output").find("hi") != std::string::npos);
        CHECK(text(result, "status") == "success");
    }
    const auto broken = s.tool("execute_code", {{"code", "int main() { return x; }"}, {"language", "c"}});
    CHECK(text(broken, "status") == "error");
}

TEST_CASE("a job outlives its call, can be read in pieces, and keeps its result")
{
    sandbox_stage s;
    const auto id = s.create();
    const auto started = s.tool("execute_terminal_command",
                                {{"sandbox_id", id},
                                 {"command", "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two; exit 4"},
                                 {"run_in_background", true}});
    const auto job = text(started, "job_id");
    CHECK(handle_maker::fits("job", job));
    auto seen = s.tool("job_poll", {{"job_id", job}, {"wait", 30}});
    CHECK(text(seen, "output") == "one\n");
    CHECK(text(seen, "state") == "running");
    CHECK_FALSE(seen.contains("result"));
    CHECK(s.tool("job_list").at("jobs").as_array().size() == 1);
    s.shell_in(id, "touch go");
    std::string rest;
    while (text(seen, "state") == "running") {
        seen = s.tool("job_poll", {{"job_id", job}, {"cursor", seen.at("cursor")}, {"wait", 30}});
        rest += text(seen, "output");
    }
    CHECK(rest == "two\n");
    CHECK(text(seen, "state") == "finished");
    CHECK(seen.at("result").as_object().at("exit_code") == 4);
    CHECK_FALSE(seen.at("result").as_object().contains("stdout"));
    CHECK(text(s.tool("job_poll", {{"job_id", job}}), "output") == "one\ntwo\n");
    CHECK(text(s.as("bob", "job_poll", {{"job_id", job}}), "error_type") == "NotFound");
    CHECK(text(s.as("bob", "job_kill", {{"job_id", job}}), "error_type") == "NotFound");
    CHECK(s.as("bob", "job_list", {}).at("jobs").as_array().empty());
}

TEST_CASE("a job ends when it is killed and when its sandbox is deleted")
{
    sandbox_stage s;
    const auto id = s.create();
    const auto begin = [&] {
        const auto job =
            text(s.tool("execute_terminal_command",
                        {{"sandbox_id", id}, {"command", "echo up; sleep 1000"}, {"run_in_background", true}}),
                 "job_id");
        CHECK(text(s.tool("job_poll", {{"job_id", job}, {"wait", 30}}), "output") == "up\n");
        return job;
    };
    const auto first = begin();
    CHECK(text(s.tool("job_kill", {{"job_id", first}}), "state") == "killed");
    CHECK(text(s.tool("job_kill", {{"job_id", first}}), "state") == "killed");
    const auto second = begin();
    s.tool("delete_sandbox", {{"sandbox_id", id}});
    CHECK(text(s.tool("job_poll", {{"job_id", second}, {"wait", 30}}), "state") == "failed");
}

TEST_CASE("commands and Python of the default sandbox run in the background, too")
{
    sandbox_stage s;
    for (const auto& [name, arguments] : std::vector<std::pair<std::string, json::object>>{
             {"system_run_command", {{"command", "echo hi"}, {"run_in_background", true}}},
             {"system_run_python", {{"code", "print('hi')"}, {"run_in_background", true}}}}) {
        const auto job = text(s.tool(name, arguments), "job_id");
        auto seen = s.tool("job_poll", {{"job_id", job}, {"wait", 30}});
        while (text(seen, "state") == "running")
            seen = s.tool("job_poll", {{"job_id", job}, {"wait", 30}, {"cursor", seen.at("cursor")}});
        CHECK(text(s.tool("job_poll", {{"job_id", job}}), "output") == "hi\n");
        CHECK(seen.at("result").as_object().at("success") == true);
    }
}

TEST_CASE("jobs wait for places of their own, say so, and keep no call waiting")
{
    settings config = all_programs();
    config.max_runs = 1;
    config.max_jobs = 1;
    sandbox_stage s(config);
    const auto begin = [&](std::string command, std::string_view state) {
        const auto begun = s.tool("system_run_command", {{"command", command}, {"run_in_background", true}});
        CHECK(text(begun, "state") == state);
        return text(begun, "job_id");
    };
    const auto first = begin("echo up; sleep 1000", "running");
    const auto second = begin("echo late", "queued");
    CHECK(text(s.last.structured, "message").find("position 1") != std::string::npos);
    CHECK(text(s.tool("job_poll", {{"job_id", first}, {"wait", 30}}), "output") == "up\n");
    auto seen = s.tool("job_poll", {{"job_id", second}});
    CHECK(text(seen, "state") == "queued");
    CHECK(seen.at("queue_place") == 1);
    CHECK_FALSE(seen.contains("result"));
    CHECK(text(s.tool("job_list").at("jobs").as_array().front().as_object(), "state") == "queued");
    CHECK(text(s.bash("echo hi"), "stdout") == "hi\n");
    CHECK(text(s.tool("job_kill", {{"job_id", first}}), "state") == "killed");
    seen = s.tool("job_poll", {{"job_id", second}, {"wait", 30}});
    CHECK_FALSE(seen.contains("queue_place"));
    CHECK(text(seen, "output") == "late\n");
}
