#include "mcp/idempotent_calls.hpp"
#include "jsonrpc/rpc_error.hpp"
#include "test/protocol/mcp/harness.hpp"
#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <map>
#include <stdexcept>

using namespace cmcp;
using namespace cmcp::test;

namespace {

const named_call first_call{"ann", "k", "whose 1"};
const named_call call_in_sandbox{"ann", "k", "whose 1", "sbx_1"};

json::object answer_with(const std::string& text) { return {{"text", text}}; }

/// A sandbox that keeps calls in memory, which outlives the server.
struct sandbox_memory {
    std::map<std::string, kept_calls::known> calls;  // by key
    std::map<std::string, std::string> requests;
    std::vector<std::string> sandbox_ids;  // sandbox_id of each call whose place was looked for
    bool is_full = false, is_away = false;
};

class sandbox_of_test final : public kept_calls {
public:
    explicit sandbox_of_test(sandbox_memory& memory) : memory_(memory) {}

    awaitable<place> place_of(caller, std::string sandbox_id, unnamed_subject) override
    {
        memory_.sandbox_ids.push_back(sandbox_id);
        place where;
        if (memory_.is_away) where.refusal = tool_failure("It cannot be known now.");
        if (sandbox_id == "there") where.sandbox = "sbx_1";
        co_return where;
    }
    awaitable<known> begin(named_call which) override
    {
        using state = known::state;
        const auto at = memory_.calls.find(which.key);
        if (at == memory_.calls.end()) {
            if (memory_.is_full) co_return known{state::full};
            memory_.calls[which.key] = {state::has_begun};
            memory_.requests[which.key] = which.request;
            co_return known{state::begins};
        }
        co_return memory_.requests[which.key] == which.request ? at->second : known{state::other};
    }
    awaitable<> end(named_call which, kept_result result) override
    {
        memory_.calls[which.key] = {result ? known::state::ended : known::state::has_begun, std::move(result)};
        co_return;
    }
    awaitable<> forget(named_call which) override
    {
        memory_.calls.erase(which.key);
        co_return;
    }

private:
    sandbox_memory& memory_;
};

struct stage {
    std::optional<json::object> find(named_call wanted) { return run_coroutine(io, calls.find(std::move(wanted))); }

    // What a call is answered without being run.
    std::optional<json::object> run(const named_call& which, const std::string& text)
    {
        if (auto known = find(which)) return known;
        idempotent_calls::running run(calls, which);
        if (auto known = run_coroutine(io, run.begin())) return known;
        run.began = true;
        run_coroutine(io, run.keep(answer_with(text)));
        return std::nullopt;
    }

    asio::io_context io;
    idempotent_calls calls;
};

struct stage_with_sandbox : stage {
    explicit stage_with_sandbox(sandbox_memory& memory) { calls.keep_with(std::make_unique<sandbox_of_test>(memory)); }
};

std::string refusal_of(const std::function<void()>& call)
{
    try {
        call();
    } catch (const rpc_error& refused) {
        const bool may_have_run = refused.data && refused.data->as_object().contains("may_have_run");
        return std::string(may_have_run ? "may have run: " : "") + refused.what();
    }
    return "none";
}

/// A server with a tool that counts its calls, with the sandbox.
struct server_with_sandbox {
    static inline int calls = 0;

    static awaitable<tool_result> count(tool_context&, json::object)
    {
        tool_result result;
        result.structured["calls"] = ++calls;
        co_return result;
    }

    explicit server_with_sandbox(sandbox_memory& memory, call_end end = {}) : server(limits_with(std::move(end)))
    {
        calls = 0;
        server.core.tools().add(std::make_unique<test_tool>("count", count, schema));
        auto reader = std::make_unique<test_tool>("look", count, schema);
        reader->reads_only();
        server.core.tools().add(std::move(reader));
        server.core.keep_calls(std::make_unique<sandbox_of_test>(memory));
        server.initialize();
    }

    static core_limits limits_with(call_end end)
    {
        core_limits limits;
        limits.end_call = std::move(end);
        return limits;
    }

    json::object call(const std::string& sandbox_id, const std::string& key, const std::string& tool = "count")
    {
        json::object params{{"name", tool}, {"arguments", json::object{{"sandbox_id", sandbox_id}}}};
        if (!key.empty()) params["_meta"] = json::object{{"container-mcp/idempotency-key", key}};
        return server.request("tools/call", std::move(params));
    }

    json::value result(const std::string& sandbox_id, const std::string& key, const std::string& tool = "count")
    {
        return call(sandbox_id, key, tool).at("result").at("structuredContent");
    }

    static constexpr std::string_view schema = R"({"type":"object","properties":{"sandbox_id":{"type":"string"}}})";
    harness server;
};

awaitable<tool_result> ask_and_count(tool_context& context, json::object arguments)
{
    auto question = parse(R"({"message":"Name?","requestedSchema":{"type":"object","properties":{}}})");
    co_await context.io.ask("name", "elicitation/create", std::move(question));
    auto result = co_await server_with_sandbox::count(context, std::move(arguments));
    co_return result;
}

}  // namespace

TEST_CASE("an equal call with the same key has the first one's result, of its caller alone")
{
    stage s;
    CHECK_FALSE(s.find(first_call));
    s.run(first_call, "first");
    CHECK(s.find(first_call) == answer_with("first"));
    CHECK_FALSE(s.find({"bob", "k", "whose 1"}));
    CHECK_FALSE(s.find({"ann", "l", "whose 1"}));
    CHECK_THROWS_AS(s.find({"ann", "k", "whose 2"}), rpc_error);
}

TEST_CASE("a call that comes while the first one runs waits for its result")
{
    stage s;
    std::optional<json::object> heard;
    const auto wait = [&]() -> awaitable<> { heard = co_await s.calls.find(first_call); };
    {
        idempotent_calls::running run(s.calls, first_call);
        asio::co_spawn(s.io, wait(), asio::detached);
        s.io.poll();
        CHECK_FALSE(heard);
        run.began = true;
        run_coroutine(s.io, run.keep(answer_with("late")));
    }
    s.io.restart();
    s.io.poll();
    CHECK(heard == answer_with("late"));
}

TEST_CASE("a call that ended before its tool began runs again, one that was cancelled within does not")
{
    stage s;
    {
        const idempotent_calls::running refused(s.calls, first_call);
    }
    CHECK_FALSE(s.find(first_call));
    {
        idempotent_calls::running cancelled(s.calls, first_call);
        cancelled.began = true;
    }
    CHECK(refusal_of([&] { s.find(first_call); }).starts_with("may have run: "));
}

TEST_CASE("results are kept as far as there is room, the latest ones")
{
    stage s;
    s.run(first_call, std::string(idempotent_calls::longest_result + 1, 'x'));
    CHECK(refusal_of([&] { s.find(first_call); }).find("result was too long") != std::string::npos);
    const std::string large(idempotent_calls::longest_result - 1000, 'x');
    const auto most = idempotent_calls::most_bytes / large.size();
    for (std::size_t i = 0; i <= most; ++i) s.run({"ann", std::to_string(i), "whose"}, large);
    CHECK_FALSE(s.find({"ann", "0", "whose"}));
    CHECK(s.find({"ann", std::to_string(most), "whose"}));
}

TEST_CASE("a call that its sandbox keeps has its result after a restart, and another one has not")
{
    sandbox_memory memory;
    {
        stage_with_sandbox before(memory);
        CHECK_FALSE(before.run(call_in_sandbox, "first"));
        CHECK(before.run(call_in_sandbox, "again") == answer_with("first"));
        CHECK_FALSE(before.run({"ann", "l", "whose 1"}, "in memory"));
    }
    stage_with_sandbox after(memory);
    CHECK(after.run(call_in_sandbox, "again") == answer_with("first"));
    CHECK_FALSE(after.run({"ann", "l", "whose 1"}, "in memory"));
    auto other = call_in_sandbox;
    other.request = "whose 2";
    CHECK(refusal_of([&] { after.run(other, "x"); }).find("given to another call") != std::string::npos);
}

TEST_CASE("a call whose server ended while it ran is not run again")
{
    sandbox_memory memory;
    {
        stage_with_sandbox before(memory);
        idempotent_calls::running run(before.calls, call_in_sandbox);
        CHECK_FALSE(run_coroutine(before.io, run.begin()));
    }
    stage_with_sandbox after(memory);
    const auto refusal = refusal_of([&] { after.run(call_in_sandbox, "again"); });
    CHECK(refusal.starts_with("may have run: "));
    CHECK(refusal.find("its server ended meanwhile") != std::string::npos);
}

TEST_CASE("a sandbox that was elsewhere meanwhile knows more of its calls than this server")
{
    sandbox_memory memory;
    stage_with_sandbox s(memory);
    s.run(call_in_sandbox, "lost with its server");
    memory.calls.clear();  // brought as it was before
    CHECK_FALSE(s.run(call_in_sandbox, "anew"));
    CHECK(s.run(call_in_sandbox, "again") == answer_with("anew"));
    memory.calls.clear();
    memory.is_full = true;
    CHECK(refusal_of([&] { s.run(call_in_sandbox, "x"); }).find("as many calls") != std::string::npos);
}

TEST_CASE("the call of a tool is kept with the sandbox that it names, and one without a key is looked for nowhere")
{
    sandbox_memory memory;
    server_with_sandbox s(memory);
    CHECK(s.result("there", "").at("calls") == 1);
    CHECK(memory.sandbox_ids.empty());
    CHECK(s.result("there", "k").at("calls") == 2);
    CHECK(memory.sandbox_ids == std::vector<std::string>{"there"});
    CHECK(memory.calls.at("k").is == kept_calls::known::state::ended);
    CHECK(s.result("there", "k").at("calls") == 2);
    CHECK(s.result("nowhere", "l").at("calls") == 3);
    CHECK(s.result("nowhere", "l").at("calls") == 3);
    CHECK(memory.calls.size() == 1);
    server_with_sandbox next(memory);
    CHECK(next.result("nowhere", "l").at("calls") == 1);
    const auto again = next.call("there", "k");
    CHECK(again.at("result").at("structuredContent").at("calls") == 2);
    memory.is_away = true;
    CHECK(next.result("there", "m").at("error") == "It cannot be known now.");
    CHECK(server_with_sandbox::calls == 1);
}

TEST_CASE("a call that succeeded while its server lost its cluster is not told as done, nor kept as ended")
{
    sandbox_memory memory;
    std::vector<bool> ends;
    bool stands = true;
    const auto end = [&](const ended_call& call) -> awaitable<bool> {
        ends.push_back(call.succeeded);
        co_return stands;
    };
    server_with_sandbox s(memory, end);
    CHECK(s.result("there", "k").at("calls") == 1);
    stands = false;
    CHECK(s.result("there", "", "look").at("calls") == 2);
    CHECK(ends == std::vector<bool>{true});
    const auto cut_off = s.result("there", "l");
    CHECK(cut_off.at("may_have_run") == true);
    CHECK(cut_off.at("error_type") == "NodeCutOff");
    stands = true;
    const auto again = s.call("there", "l");
    CHECK(again.at("error").at("data").at("may_have_run") == true);
    CHECK(server_with_sandbox::calls == 3);
}

TEST_CASE("a call that ended with a question goes on under its key, and its last result is kept")
{
    for (const std::string sandbox_id : {"there", "nowhere"}) {
        INFO(sandbox_id);
        sandbox_memory memory;
        harness server;
        server_with_sandbox::calls = 0;
        server.core.tools().add(std::make_unique<test_tool>("ask", ask_and_count, server_with_sandbox::schema));
        server.core.keep_calls(std::make_unique<sandbox_of_test>(memory));
        const auto attempt = [&](json::object answers) {
            json::object params{{"name", "ask"}, {"arguments", json::object{{"sandbox_id", sandbox_id}}}};
            params["_meta"] = json::object{{"container-mcp/idempotency-key", "k"}};
            if (!answers.empty()) params["inputResponses"] = std::move(answers);
            return server.modern("tools/call", std::move(params), parse(R"({"elicitation":{}})")).at("result");
        };
        for (int time = 0; time != 2; ++time) CHECK(attempt({}).at("resultType") == "input_required");
        CHECK(memory.calls.empty());
        for (int time = 0; time != 2; ++time) {
            const auto last = attempt(parse(R"({"name":{"action":"accept"}})"));
            CHECK(last.at("structuredContent").at("calls") == 1);
        }
    }
}

TEST_CASE("keys are texts, or strings of structured fields")
{
    CHECK(read_idempotency_key("8e03978e-40d5") == "8e03978e-40d5");
    CHECK(read_idempotency_key("\"8e03978e\"") == "8e03978e");
    CHECK(read_idempotency_key("").empty());
    for (const auto* bad : {"a b", "\"", "\"\"", "\"a", "a\"b", "tab\t", "\x7f", "ä"}) {
        INFO(bad);
        CHECK_THROWS_AS(read_idempotency_key(bad), std::invalid_argument);
    }
}
