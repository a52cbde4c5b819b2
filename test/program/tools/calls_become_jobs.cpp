#include "test/program/tools/sandbox_support.hpp"

#include "async/task_group.hpp"

#include <boost/asio/ip/tcp.hpp>

using namespace cmcp;
using namespace cmcp::test;

namespace {

struct client_stage : sandbox_stage {
    using sandbox_stage::sandbox_stage;

    awaitable<tool_result> start_of_client(std::string name, json::object arguments)
    {
        const caller who;
        tool_context context{who, progress, "test-1", {}, {}};
        context.reads_jobs = true;
        auto result = co_await registry.find(name)->call(context, std::move(arguments));
        co_return result;
    }

    awaitable<> start_and_note(std::string name, json::object arguments, std::string& how)
    {
        try {
            auto result = co_await start_of_client(std::move(name), std::move(arguments));
            how = json::serialize(result.structured);
        } catch (const boost::system::system_error& failure) {
            how = failure.code() == asio::error::operation_aborted ? "aborted" : failure.what();
        }
    }

    /// A call of a client that can read jobs.
    json::object as_client(std::string name, json::object arguments)
    {
        last = run_coroutine(io, start_of_client(std::move(name), std::move(arguments)), std::chrono::seconds(60));
        return last.structured;
    }

    json::object end_of(const json::object& begun)
    {
        return tool("job_poll",
                    {{"job_id", begun.at("job_id")}, {"cursor", begun.at("cursor")}, {"until", "end"}, {"wait", 60}});
    }
};

// Prints, then waits until somebody writes into the pipe `go`.
constexpr const char* waits = "echo one; cat go; echo two; exit 3";

constexpr const char* make_pipe = "rm -f go; mkfifo go";

}  // namespace

TEST_CASE("a call that takes longer than its time goes on as a job, and nothing is lost or told twice")
{
    client_stage s;
    const auto id = s.create();
    for (const bool shell : {false, true}) {
        s.shell_in(id, make_pipe);
        const std::string command = shell ? "(" + std::string(waits) + ")" : waits;
        const json::object arguments{{"sandbox_id", id}, {"command", command}, {"timeout", 0.5}, {"shell", shell}};
        const auto begun = s.as_client("execute_terminal_command", arguments);
        INFO(json::serialize(begun));
        REQUIRE(begun.contains("job_id"));
        CHECK(begun.at("cursor") == text(begun, "output").size());
        CHECK(text(begun, "state") == "running");
        CHECK(text(begun, "message").find("job_poll") != std::string::npos);
        CHECK_FALSE(s.last.is_error);
        s.shell_in(id, "echo in between > go");
        const auto ended = s.end_of(begun);
        CHECK(text(begun, "output") + text(ended, "output") == "one\nin between\ntwo\n");
        CHECK(text(ended, "state") == "finished");
        const auto& result = ended.at("result").as_object();
        CHECK(result.at("exit_code") == 3);
        CHECK(text(result, "cause") == "exited");
        CHECK_FALSE(result.contains("stdout"));
        CHECK(s.last.text == text(ended, "output") + "exit_code: 3\nfinished");
        CHECK(text(s.tool("job_poll", {{"job_id", begun.at("job_id")}}), "output") == "one\nin between\ntwo\n");
    }
}

TEST_CASE("a cell that takes longer than its time goes on as a job in its kernel, whose variables stay")
{
    client_stage s;
    const auto id = s.create();
    const std::string code = "x = open('go').read()\nx";
    s.shell_in(id, make_pipe);
    const auto begun =
        s.as_client("execute_python_code", {{"sandbox_id", id}, {"code", code}, {"stateful", true}, {"timeout", 0.5}});
    INFO(json::serialize(begun));
    REQUIRE(begun.contains("job_id"));
    s.shell_in(id, "echo -n in between > go");
    const auto ended = s.end_of(begun);
    CHECK(ended.at("result").as_object().at("result") == "in between");
    const auto after = s.tool("execute_python_code", {{"sandbox_id", id}, {"code", "len(x)"}, {"stateful", true}});
    CHECK(after.at("result") == 10);
}

TEST_CASE(
    "a cell behind one that does not end becomes a job that waits, or is refused, and runs when its turn has come")
{
    client_stage s;
    const auto id = s.create();
    const auto cell = [&](std::string code) {
        return json::object{{"sandbox_id", id}, {"code", std::move(code)}, {"stateful", true}, {"timeout", 0.5}};
    };
    s.shell_in(id, make_pipe);
    const auto first = s.as_client("execute_python_code", cell("x = open('go').read()"));
    REQUIRE(first.contains("job_id"));
    const auto second = s.as_client("execute_python_code", cell("x * 2"));
    INFO(json::serialize(second));
    CHECK(text(second, "state") == "queued");
    CHECK(text(second, "message").find("An earlier call still runs") != std::string::npos);
    const auto refused = s.tool("execute_python_code", cell("print('never')"));  // no client that reads jobs
    CHECK(text(refused, "error_type") == "Busy");
    CHECK(text(refused, "error").find("has done nothing") != std::string::npos);
    const auto third = s.as_client("execute_python_code", cell("print('never')"));
    CHECK(text(s.tool("job_kill", {{"job_id", third.at("job_id")}}), "state") == "killed");
    s.shell_in(id, "echo -n in > go");
    CHECK(s.end_of(second).at("result").as_object().at("result") == "inin");
    CHECK(text(s.end_of(first), "state") == "finished");
}

TEST_CASE("a command behind one that does not end in its shell becomes a job that waits, or is refused")
{
    client_stage s;
    const auto id = s.create();
    const auto command = [&](std::string text) {
        return json::object{{"sandbox_id", id}, {"command", std::move(text)}, {"shell", true}, {"timeout", 0.5}};
    };
    s.shell_in(id, make_pipe);
    const auto first = s.as_client("execute_terminal_command", command("x=$(cat go)"));
    REQUIRE(first.contains("job_id"));
    const auto second = s.as_client("execute_terminal_command", command("echo $x$x"));
    CHECK(text(second, "state") == "queued");
    CHECK(text(s.tool("execute_terminal_command", command("echo never")), "error_type") == "Busy");
    s.shell_in(id, "echo -n in > go");
    CHECK(text(s.end_of(second), "output") == "inin\n");
}

TEST_CASE("a fork does not wait longer than a run may for the code that its kernel runs")
{
    settings config = all_programs();
    config.python_timeout_default = std::chrono::milliseconds(300);
    client_stage s(config);
    const auto id = s.create();
    s.shell_in(id, make_pipe);
    const auto running =
        s.as_client("execute_python_code", {{"sandbox_id", id}, {"code", "x = open('go').read()"}, {"stateful", true}});
    CHECK(text(s.tool("fork_sandbox", {{"sandbox_id", id}}), "error_type") == "Busy");
    s.shell_in(id, "echo -n in > go");
    CHECK(text(s.end_of(running), "state") == "finished");
    CHECK(s.tool("fork_sandbox", {{"sandbox_id", id}}).contains("sandbox_id"));
}

TEST_CASE("the job that a call has become is ended as any other job is")
{
    client_stage s;
    const auto id = s.create();
    const auto begun =
        s.as_client("execute_terminal_command", {{"sandbox_id", id}, {"command", "exec sleep 1000"}, {"timeout", 0.3}});
    CHECK(text(s.tool("job_kill", {{"job_id", begun.at("job_id")}}), "state") == "killed");
    CHECK(text(s.shell_in(id, "pgrep -c sleep"), "stdout") == "0\n");
}

TEST_CASE("a call is ended at its time where no job may take its place")
{
    settings config = all_programs();
    config.auth_quotas = {"*:jobs=1"};
    client_stage s(config);
    const auto id = s.create();
    const json::object slow{{"sandbox_id", id}, {"command", "echo one; exec sleep 1000"}, {"timeout", 0.5}};
    const auto cause_of = [&](const json::object& result) {
        INFO(json::serialize(result));
        CHECK(text(result, "error").find("0.5 s") != std::string::npos);
        return text(result, "cause");
    };
    CHECK(cause_of(s.tool("execute_terminal_command", slow)) == "timeout");  // no client that reads jobs
    const auto first = s.as_client("execute_terminal_command", slow);
    CHECK(first.contains("job_id"));
    CHECK(cause_of(s.as_client("execute_terminal_command", slow)) == "timeout");  // the quota is used up
    s.tool("job_kill", {{"job_id", first.at("job_id")}});
    config.calls_become_jobs = false;
    client_stage old(config);
    auto there = slow;
    there["sandbox_id"] = old.create();
    CHECK(cause_of(old.as_client("execute_terminal_command", there)) == "timeout");
}

TEST_CASE("a call in the default sandbox goes on as a job at the usual limit, and keeps the limit that it names itself")
{
    settings config = all_programs();
    config.bash_timeout_default = config.python_timeout_default = std::chrono::milliseconds(500);
    client_stage s(config);
    for (const auto& [name, arguments] : std::vector<std::pair<std::string, json::object>>{
             {"system_run_command", {{"command", "exec sleep 1000"}}},
             {"system_run_python", {{"code", "import time\ntime.sleep(1000)"}}}}) {
        const auto begun = s.as_client(name, arguments);
        INFO(json::serialize(begun));
        REQUIRE(begun.contains("job_id"));
        s.tool("job_kill", {{"job_id", begun.at("job_id")}});
        auto named = arguments;
        named["timeout"] = 0.4;
        CHECK(text(s.as_client(name, named), "cause") == "timeout");
    }
}

TEST_CASE("an installation goes on as a job at the usual limit, or in its call where there can be no job")
{
    if (!fs::exists("/usr/bin/pip3")) return;
    using tcp = asio::ip::tcp;
    asio::io_context beside;
    const tcp::acceptor silent_index(beside, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    settings config = all_programs();
    config.pypi_index_url = "http://127.0.0.1:" + std::to_string(silent_index.local_endpoint().port()) + "/simple";
    config.bash_timeout_default = std::chrono::milliseconds(300);
    config.install_timeout = std::chrono::seconds(1000);
    config.auth_quotas = {"*:jobs=1"};
    client_stage s(config);
    const json::object wanted{{"package_names", json::array{"greeter"}}};
    const auto begun = s.as_client("install_packages_in_sandbox", wanted);
    INFO(json::serialize(begun));
    REQUIRE(begun.contains("job_id"));
    CHECK(text(begun, "state") == "running");
    std::string how;
    task_group calls(s.io.get_executor());
    calls.spawn("call", s.start_and_note("install_packages_in_sandbox", wanted, how));
    CHECK_FALSE(run_coroutine(s.io, calls.wait_idle(std::chrono::seconds(1))));  // three times the limit
    CHECK(how.empty());
    CHECK(text(s.tool("job_kill", {{"job_id", begun.at("job_id")}}), "state") == "killed");
    calls.cancel_all();
    CHECK(run_coroutine(s.io, calls.wait_idle(std::chrono::seconds(20))));
    CHECK(how == "aborted");
}

TEST_CASE("a call that is cancelled before its time ends its run, and becomes no job")
{
    client_stage s;
    const auto id = s.create();
    std::string how;
    task_group calls(s.io.get_executor());
    const json::object arguments{{"sandbox_id", id}, {"command", "touch begun; exec sleep 1000"}, {"timeout", 100}};
    calls.spawn("call", s.start_and_note("execute_terminal_command", arguments, how));
    while (!fs::exists(s.files_of(id) / "begun")) run_coroutine(s.io, s.start("job_list", {}));
    calls.cancel_all();
    CHECK(run_coroutine(s.io, calls.wait_idle(std::chrono::seconds(20))));
    CHECK(how == "aborted");
    CHECK(s.tool("job_list").at("jobs").as_array().empty());
    CHECK(text(s.shell_in(id, "pgrep -c sleep"), "stdout") == "0\n");
}

TEST_CASE("what a caller is sent while its call goes on is not in the job twice")
{
    client_stage s;
    const auto id = s.create();
    const std::string command = "seq 200; cat go; seq 200";
    for (const bool wanted : {false, true}) {
        s.shell_in(id, make_pipe);
        recording_io io(s.io.get_executor(), wanted);
        const caller who;
        tool_context context{who, io, "test-1", {}, {}};
        context.reads_jobs = true;
        auto call = s.registry.find("execute_terminal_command")
                        ->call(context, {{"sandbox_id", id}, {"command", command}, {"timeout", 1}});
        const auto begun = run_coroutine(s.io, std::move(call), std::chrono::seconds(60)).structured;
        INFO(json::serialize(begun));
        REQUIRE(begun.contains("job_id"));
        s.shell_in(id, "echo > go");
        const auto ended = s.end_of(begun);
        std::string numbers;
        for (int i = 1; i <= 200; ++i) numbers += std::to_string(i) + "\n";
        CHECK(text(begun, "output") + text(ended, "output") == numbers + "\n" + numbers);
        if (wanted) CHECK(io.all() == text(begun, "output"));
    }
}

TEST_CASE("a poll that waits for the end of a job answers before, where there is as much as an answer has room for")
{
    client_stage s;
    const auto id = s.create();
    const auto large =
        s.tool("execute_terminal_command",
               {{"sandbox_id", id}, {"command", "seq 100000; exec sleep 1000"}, {"run_in_background", true}});
    const auto polled = s.tool("job_poll", {{"job_id", large.at("job_id")}, {"until", "end"}, {"wait", 60}});
    CHECK(text(polled, "state") == "running");
    CHECK(polled.at("more") == true);
    s.tool("job_kill", {{"job_id", large.at("job_id")}});
}
