#include "config/settings.hpp"
#include "jsonrpc/read_object.hpp"
#include "test/program/tools/sandbox_support.hpp"
#include "test/support/eventually.hpp"
#include "upstream/stdio_link.hpp"
#include "upstream/upstream_servers.hpp"

#include <fstream>

using namespace cmcp;
using namespace cmcp::test;

namespace {

// A server in Python. `call(id, arguments)` is what a test makes of it.
const std::string server_beginning = R"(
import json, os, sys, time
def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def answer(id, result):
    say({"id": id, "result": result})
def text(id, said):
    answer(id, {"content": [{"type": "text", "text": str(said)}]})
tools = [{"name": "echo", "inputSchema": {"type": "object"}}]
first = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}
def call(id, arguments):
    text(id, arguments.get("text", "hello"))
def other(message):
    pass
)";
const std::string server_end = R"(
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize": answer(message["id"], first)
    elif method == "tools/list": answer(message["id"], {"tools": tools})
    elif method == "tools/call": call(message["id"], message["params"].get("arguments", {}))
    else: other(message)
)";

upstream_entry python_server(const std::string& part, const std::string& name = "one")
{
    upstream_entry entry;
    entry.name = name;
    entry.command = {"python3", "-c", server_beginning + part + server_end};
    entry.timeout = std::chrono::seconds(20);
    return entry;
}

settings with_servers(std::vector<upstream_entry> servers)
{
    auto config = all_programs();
    config.upstreams = std::move(servers);
    return config;
}

struct stdio_stage : sandbox_stage {
    explicit stdio_stage(const std::string& part) : sandbox_stage(with_servers({python_server(part)})) {}
    explicit stdio_stage(upstream_entry entry) : sandbox_stage(with_servers({std::move(entry)})) {}

    std::vector<std::string> names()
    {
        std::vector<std::string> all_names;
        for (const auto& each : run_coroutine(io, all->upstreams->tools("alice"), std::chrono::seconds(60)))
            all_names.push_back(each.name);
        return all_names;
    }
    std::string say(json::object arguments = {})
    {
        auto work = all->upstreams->call("alice", "one", "echo", std::move(arguments), progress_of_call);
        const auto result = run_coroutine(io, std::move(work), std::chrono::seconds(60));
        return text_of(result.at("content").at(0).as_object(), "text");
    }
    std::string failure()
    {
        try {
            say();
        } catch (const upstream_problem& problem) {
            return problem.what();
        }
        return {};
    }

    upstream_progress_handler progress_of_call;
};

bool says(const std::string& text, std::string_view part)
{
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
    return true;
}

}  // namespace

TEST_CASE("a server that is a program runs in a sandbox of its own, which keeps its files")
{
    auto entry = python_server(R"(
def call(id, arguments):
    with open("kept", "a") as file: file.write("x")
    text(id, [os.getcwd(), os.environ["TOKEN"], open("kept").read(), os.path.exists("/proc/1/root/etc/shadow")])
)");
    entry.env = {{"TOKEN", "secret"}};
    stdio_stage stage(entry);
    CHECK(stage.names() == std::vector<std::string>{"echo"});
    CHECK(stage.say() == "['/app/results', 'secret', 'x', False]");
    CHECK(stage.say() == "['/app/results', 'secret', 'xx', False]");
    CHECK(stage.all->upstreams->states()[0].status == "ready");
    CHECK(stage.all->upstreams->states()[0].protocol == "2025-06-18");

    const auto records = stage.all->sandboxes->store().list(upstream_servers::principal);
    REQUIRE(records.size() == 1);
    CHECK(records[0].network.empty());
    CHECK(strings(stage.tool("list_sandboxes"), "sandboxes").empty());
    stage.as("alice", "execute_python_code", {{"sandbox_id", records[0].id}, {"code", "1"}});
    CHECK(stage.last.is_error);
    stage.tool("execute_python_code", {{"sandbox_id", records[0].name}, {"code", "1"}});
    CHECK(stage.last.is_error);

    run_coroutine(stage.io, stage.all->sandboxes->sweep(sandbox_manager::now() + 1e9));
    CHECK(stage.all->sandboxes->store().list(upstream_servers::principal).size() == 1);
}

TEST_CASE("a program that ends at once says why, and is not started again at once")
{
    stdio_stage stage(std::string("print('no such\\x1b[31m key secret', file=sys.stderr); sys.exit(3)"));
    CHECK(stage.names().empty());
    const auto failure = stage.failure();
    says(failure, "ended with exit code 3");
    says(failure, "no such key secret");
    const auto problems = stage.all->upstreams->problems("alice");
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].server == "one");
}

TEST_CASE("a program that is not there is a problem")
{
    auto entry = python_server({});
    entry.command = {"no-such-program-at-all"};
    stdio_stage stage(entry);
    CHECK(stage.names().empty());
    says(stage.failure(), "no-such-program-at-all");
}

TEST_CASE("hosts that the operator does not allow sandboxes are not allowed programs of servers")
{
    auto entry = python_server({});
    entry.network = {"api.example.com"};
    stdio_stage stage(entry);
    CHECK(stage.names().empty());
    says(stage.failure(), "SANDBOX_NETWORK_ALLOWED");
}

TEST_CASE("lines that are no messages, wrong ids and second answers are dropped")
{
    stdio_stage stage(std::string(R"(
print("Server is starting ...", flush=True)
def call(id, arguments):
    print("{not json", flush=True)
    print("[" * 100000, flush=True)
    text(id + 1000, "wrong")
    text(str(id), "wrong")
    text(id, "right")
    text(id, "again")
)"));
    for (int i = 0; i < 3; ++i) CHECK(stage.say() == "right");
}

TEST_CASE("a program that ends during a call fails it, and is started again later")
{
    stdio_stage stage(std::string(R"(
def call(id, arguments):
    if not os.path.exists("once"):
        open("once", "w").close()
        print("out of luck", file=sys.stderr)
        sys.exit(7)
    text(id, "second life")
)"));
    CHECK(stage.names().size() == 1);
    const auto first = stage.failure();
    says(first, "ended with exit code 7");
    says(first, "out of luck");
    says(stage.failure(), "may start again in 1 s");
    CHECK(eventually(stage.io, [&] { return stage.failure().empty(); }));
    CHECK(stage.say() == "second life");
}

TEST_CASE("a program hears that a call was cancelled")
{
    stdio_stage stage(std::string(R"(
seen = []
def call(id, arguments):
    if "seen" in arguments: text(id, seen)
    else: print("begun", file=sys.stderr, flush=True)
def other(message):
    seen.append(message["method"])
)"));
    stage.names();
    canceller ends;
    bool done = false;
    asio::co_spawn(stage.io, stage.all->upstreams->call("alice", "one", "echo", {}, {}),
                   asio::bind_cancellation_slot(ends.slot(), [&](std::exception_ptr, json::object) { done = true; }));
    CHECK(stage.say({{"seen", true}}) == "['notifications/initialized']");
    ends.cancel();
    while (!done) stage.io.run_one();
    CHECK(stage.say({{"seen", true}}) == "['notifications/initialized', 'notifications/cancelled']");
}

TEST_CASE("a program tells progress and asks for signs of life")
{
    stdio_stage stage(std::string(R"(
def call(id, arguments):
    say({"id": "p", "method": "ping"})
    line = json.loads(sys.stdin.readline())
    say({"method": "notifications/progress", "params": {"progressToken": 10**6, "progress": 1}})
    say({"method": "notifications/progress", "params": {"progressToken": id, "progress": 1, "total": 4}})
    text(id, line)
)"));
    std::vector<double> steps;
    stage.progress_of_call = [&](const upstream_progress& step) { steps.push_back(step.progress); };
    CHECK(stage.say() == "{'jsonrpc': '2.0', 'id': 'p', 'result': {}}");
    CHECK(steps == std::vector<double>{1});
}

TEST_CASE("a program that says too much is ended")
{
    stdio_stage stage(std::string(R"(
def call(id, arguments):
    while True: sys.stdout.write("x" * (1 << 20))
)"));
    says(stage.failure(), "sent more than a message may hold");
}

TEST_CASE("a program that floods with messages that nobody waits for is ended")
{
    stdio_stage stage(std::string(R"(
def call(id, arguments):
    while True: say({"method": "notifications/message", "params": {"data": "x" * 100000}})
)"));
    says(stage.failure(), "sent more than a message may hold");
}

TEST_CASE("a program that closes its output and lives on costs its call the time limit")
{
    auto entry = python_server(R"(
def call(id, arguments):
    os.close(1); os.close(0)
    time.sleep(1000)
)");
    entry.timeout = std::chrono::seconds(1);
    stdio_stage stage(entry);
    stage.names();
    says(stage.failure(), "has not answered within");
}

TEST_CASE("a program that does not answer costs its call the time limit")
{
    auto entry = python_server("def call(id, arguments): pass");
    entry.timeout = std::chrono::seconds(1);
    stdio_stage stage(entry);
    stage.names();
    says(stage.failure(), "has not answered within");
    CHECK(stage.all->upstreams->states()[0].status == "ready");
}

TEST_CASE("a program that speaks 2026-07-28 alone is spoken to so")
{
    stdio_stage stage(std::string(R"(
metas = []
def call(id, arguments):
    text(id, sorted(metas))
def other(message):
    if message.get("method") == "server/discover":
        metas.extend(message["params"]["_meta"])
        answer(message["id"], {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
)") + R"(
class refusing:
    def __init__(self, real): self.real = real
    def __iter__(self):
        for line in self.real:
            message = json.loads(line)
            if message.get("method") == "initialize": say({"id": message["id"], "error": {"code": -32601, "message": "no"}})
            else: yield line
sys.stdin = refusing(sys.stdin)
)");
    const auto said = stage.say();
    says(said, "io.modelcontextprotocol/protocolVersion");
    CHECK(stage.all->upstreams->states()[0].protocol == "2026-07-28");
}

TEST_CASE("a program that nobody uses ends, and starts with the next call")
{
    stdio_stage stage(std::string("started = time.time()\ndef call(id, arguments): text(id, started)"));
    stdio_times times;
    times.idle = std::chrono::milliseconds(200);
    const auto link = std::make_shared<stdio_link>(stage.io.get_executor(), stage.config.upstreams[0], stage.backend,
                                                   stage.all->sandbox_runs.get(), upstream_servers::principal, times);
    const auto ask = [&] {
        upstream_request wanted{"tools/call", {{"name", "echo"}}};
        return run_coroutine(stage.io, link->ask(std::move(wanted)), std::chrono::seconds(60));
    };
    const auto first = ask();
    CHECK(ask() == first);
    while (link->is_open()) stage.io.run_one();
    CHECK(ask() != first);
    run_coroutine(stage.io, link->close());
}

TEST_CASE("a server that is a program needs sandboxes")
{
    auto config = with_servers({python_server({})});
    config.enable_sandbox = false;
    system_stage stage(config);
    CHECK(run_coroutine(stage.io, stage.all->upstreams->tools("")).empty());
    says(stage.all->upstreams->problems("")[0].problem, "needs sandboxes");
}
