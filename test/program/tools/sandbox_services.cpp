#include "test/program/tools/sandbox_support.hpp"

#include "jsonrpc/read_object.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

// Says "up" and its count of starts, and lives until it is killed.
constexpr const char* counting = "echo x >> starts; echo up $(wc -l < starts); exec sleep 1000";

struct service_stage : sandbox_stage {
    using sandbox_stage::sandbox_stage;

    json::object declare(std::string name, std::string command)
    {
        return tool("execute_terminal_command", {{"sandbox_id", id}, {"command", command}, {"service", name}});
    }
    json::object only_service(const std::string& of)
    {
        const auto listed = tool("list_sandboxes");
        for (const auto& each : listed.at("sandboxes").as_array()) {
            const auto& row = each.as_object();
            if (text(row, "sandbox_id") == of && row.contains("services"))
                return row.at("services").as_array().front().as_object();
        }
        return {};
    }
    /// Until the service has printed this at its latest start.
    void wait_for(const std::string& of, const std::string& printed)
    {
        std::string output;
        while (output.find(printed) == std::string::npos) {
            const auto job = text(only_service(of), "job_id");
            if (!job.empty()) output = text(tool("job_poll", {{"job_id", job}, {"wait", 1}}), "output");
        }
    }
    std::string id = create();
};

}  // namespace

TEST_CASE("a service runs, is listed with its output, and job_kill ends it for good")
{
    service_stage s;
    const auto begun = s.declare("sleeper", counting);
    REQUIRE(begun.at("success") == true);
    s.wait_for(s.id, "up 1\n");
    const auto row = s.only_service(s.id);
    CHECK(text(row, "name") == "sleeper");
    CHECK(text(row, "state") == "running");
    CHECK(text(row, "job_id") == text(begun, "job_id"));
    CHECK(text(s.tool("job_kill", {{"job_id", text(begun, "job_id")}}), "state") == "killed");
    CHECK(s.only_service(s.id).empty());
    s.tool("pause_sandbox", {{"sandbox_id", s.id}});
    CHECK(text(s.shell_in(s.id, "cat starts; pgrep sleep"), "stdout") == "x\n");
}

TEST_CASE("a service whose program ends starts again, and says how it ended")
{
    service_stage s;
    const auto job = text(s.declare("short", "echo x >> starts; echo up $(wc -l < starts); exit 3"), "job_id");
    s.wait_for(s.id, "up 2\n");
    const auto row = s.only_service(s.id);
    CHECK(row.at("restarts").to_number<int>() >= 1);
    CHECK(row.at("exit_code") == 3);
    const auto view = s.tool("job_poll", {{"job_id", job}});
    CHECK(text(view, "state") == "running");
    CHECK(strings(view, "messages").front() == "It ended with exit code 3. It starts again in 1 s.");
}

TEST_CASE("a service starts again after a pause, and a fork has it, too")
{
    service_stage s;
    s.declare("sleeper", counting);
    s.wait_for(s.id, "up 1\n");
    const auto first = text(s.only_service(s.id), "job_id");
    s.tool("pause_sandbox", {{"sandbox_id", s.id}});
    CHECK(text(s.only_service(s.id), "state") == "stopped");
    CHECK(text(s.tool("job_poll", {{"job_id", first}}), "state") == "finished");
    s.tool("resume_sandbox", {{"sandbox_id", s.id}});
    s.wait_for(s.id, "up 2\n");
    const auto fork = text(s.tool("fork_sandbox", {{"sandbox_id", s.id}}), "sandbox_id");
    s.wait_for(fork, "up 3\n");
    CHECK(text(s.only_service(s.id), "job_id") != text(s.only_service(fork), "job_id"));
    s.tool("job_kill", {{"job_id", text(s.only_service(fork), "job_id")}});
    CHECK(text(s.only_service(s.id), "state") == "running");
}

TEST_CASE("a paused sandbox may lose its service, which is not started again")
{
    service_stage s;
    const auto job = text(s.declare("sleeper", counting), "job_id");
    s.wait_for(s.id, "up 1\n");
    s.tool("pause_sandbox", {{"sandbox_id", s.id}});
    s.tool("job_kill", {{"job_id", job}});
    CHECK(text(s.shell_in(s.id, "cat starts"), "stdout") == "x\n");
    CHECK(s.only_service(s.id).empty());
}

TEST_CASE("a service of the same name takes the place of the earlier one")
{
    service_stage s;
    s.declare("one", counting);
    s.wait_for(s.id, "up 1\n");
    s.declare("one", "echo other; exec sleep 2000");
    s.wait_for(s.id, "other\n");
    CHECK(text(s.shell_in(s.id, "pgrep -a sleep"), "stdout").find("sleep 2000\n") != std::string::npos);
    CHECK(text(s.shell_in(s.id, "pgrep -c sleep"), "stdout") == "1\n");
}

TEST_CASE("of what a service prints the latest stays, at cursors that go on")
{
    service_stage s;
    const auto job =
        text(s.declare("loud", "head -c 5000000 /dev/zero | tr '\\0' x | fold -w 99; echo; echo last; exec sleep 1000"),
             "job_id");
    std::int64_t cursor = 0;
    std::string latest;
    while (latest.find("last\n") == std::string::npos) {
        const auto view = s.tool("job_poll", {{"job_id", job}, {"cursor", cursor}, {"wait", 1}});
        latest += text(view, "output");
        latest.erase(0, latest.size() - std::min<std::size_t>(latest.size(), 100));
        cursor = view.at("cursor").to_number<std::int64_t>();
    }
    CHECK(cursor > 5'000'000);
    const auto from_start = s.tool("job_poll", {{"job_id", job}});
    CHECK(text(from_start, "output").front() == 'x');
    CHECK(from_start.at("cursor").to_number<std::uint64_t>() > 2'000'000);
}

TEST_CASE("a service is its owner's, calls no tools, and leaves nothing behind")
{
    service_stage s;
    const json::object theirs{{"sandbox_id", s.id}, {"command", "true"}, {"service", "x"}};
    CHECK(text(s.as("bob", "execute_terminal_command", theirs), "error_type") == "NotFound");
    const auto job =
        text(s.declare("daemons", "setsid sleep 3000 & env | grep -c CONTAINER_MCP_TOOLS; echo ready; exec sleep 1000"),
             "job_id");
    s.wait_for(s.id, "ready\n");
    CHECK(text(s.tool("job_poll", {{"job_id", job}}), "output") == "0\nready\n");
    CHECK(text(s.as("bob", "job_kill", {{"job_id", job}}), "error_type") == "NotFound");
    CHECK(text(s.only_service(s.id), "state") == "running");
    s.tool("pause_sandbox", {{"sandbox_id", s.id}});
    CHECK_FALSE(run_coroutine(s.io, s.all->sandboxes->cells().now()).contains(s.id));
    s.tool("delete_sandbox", {{"sandbox_id", s.id}});
    CHECK_FALSE(run_coroutine(s.io, s.all->sandboxes->cells().now()).contains(s.id));
}

TEST_CASE("what is no service is refused with the reason")
{
    service_stage s;
    for (const char* name : {"../x", ".x", "a b", "-x"})
        CHECK(text(s.declare(name, "true"), "error_type") == "InvalidArgument");
    CHECK(text(s.declare("x", std::string(20'000, 'x')), "error_type") == "InvalidArgument");
    const auto mixed = s.tool("execute_terminal_command",
                              {{"sandbox_id", s.id}, {"command", "true"}, {"service", "x"}, {"shell", true}});
    CHECK(text(mixed, "error_type") == "InvalidArgument");
    for (int i = 0; i < 16; ++i) CHECK(s.declare("s" + std::to_string(i), "exec sleep 1000").at("success") == true);
    CHECK(text(s.declare("more", "true"), "error_type") == "QuotaExceeded");
}
