#include "mcp/other_nodes.hpp"
#include "test/protocol/mcp/tools_for_tests.hpp"
#include "test/support/catch.hpp"

#include <deque>

using namespace cmcp;
using namespace cmcp::test;

namespace {

constexpr std::string_view owned_schema =
    R"({"type":"object","properties":{"sandbox_id":{"type":"string","x-mcp-header":"Sandbox-Id"},"text":{"type":"string"}}})";
constexpr std::string_view place_schema =
    R"({"type":"object","properties":{"sandbox_id":{"type":"string","x-mcp-header":"Sandbox-Id"},"text":{"type":"string"},)"
    R"("image":{"type":"string"},"path":{"type":"string"}}})";
constexpr std::string_view elsewhere = "sbx_n2_0123456789abcdef0123456789abcdef";
constexpr std::string_view here = "sbx_n1_0123456789abcdef0123456789abcdef";

/// Nodes that answer what the test says, and keep what they were asked.
class told_nodes final : public other_nodes {
public:
    struct order {
        std::string node, method;
        json::object params;
    };

    std::string owner_of(std::string_view handle) const override
    {
        return handle.find("_n2_") != std::string_view::npos ? "n2" : "";
    }
    awaitable<std::optional<std::string>> find_again(std::string handle, std::string, movable_request::moment) override
    {
        looked_for.push_back(std::move(handle));
        co_return again;
    }
    awaitable<json::object> call(running_request& request, std::string node, shared_params params) override
    {
        calls.push_back({node, request.method, *params});
        if (unreachable && node == "n2") throw node_unreachable("The server n2 cannot be reached.", why);
        if (gone_to.contains(node)) throw has_moved("It has gone.", gone_to[node]);
        auto result = std::move(results.front());
        results.pop_front();
        co_return result;
    }
    awaitable<std::string> node_with(const caller& who, std::string name) override
    {
        names.push_back(who.principal + ":" + name);
        co_return name == "theirs" || name.empty() ? "n2" : "";
    }
    bool is_own(std::string_view node) const override { return node == "n1"; }
    awaitable<std::string> node_for_new(const caller&, std::string name, wish needs) override
    {
        wished.push_back(needs.image + ":" + labels_text(needs.labels));
        const bool anywhere = needs.image.empty() && needs.labels.empty();
        co_return anywhere || name == "theirs" ? "n2" : "";
    }
    awaitable<std::string> home_of(const caller& who) override { co_return known_home_of(who); }
    std::string known_home_of(const caller&) const override { return home; }
    std::string default_sandbox_of(const caller&) const override { return default_sandbox; }
    awaitable<std::vector<answer>> ask_all(running_request&) override { co_return lists; }
    awaitable<std::vector<answer>> ask_holders(running_request&) override { co_return lists; }
    void tell_list_changed(const std::string& list) override { changed_lists.push_back(list); }
    std::shared_ptr<void> observe(const caller&, std::string node, const change& what,
                                  std::function<void(json::object params)> heard) override
    {
        observed.push_back({std::move(node), what.uri, {}});
        tell = std::move(heard);
        return std::make_shared<int>(0);
    }

    std::deque<json::object> results;
    std::vector<answer> lists;
    std::vector<order> calls, observed;
    std::vector<std::string> changed_lists;
    std::vector<std::string> names;   // principal:name of each question
    std::vector<std::string> wished;  // image:labels of each new sandbox
    std::function<void(json::object params)> tell;
    std::string home;                  // of every default sandbox
    std::string default_sandbox;       // the handle of every one
    std::optional<std::string> again;  // where sandboxes of n2 are now
    std::vector<std::string> looked_for;
    std::map<std::string, std::string> gone_to;  // by the node that is asked
    bool unreachable = false;
    node_unreachable::cause why = node_unreachable::cause::silent;
};

struct cluster_of_two {
    cluster_of_two()
    {
        add(server, "echo", echo, owned_schema);
        server.core.work_with(nodes);
    }
    void add_about(std::string name, unnamed_subject what)
    {
        auto added = std::make_unique<test_tool>(std::move(name), echo, place_schema);
        added->about(what);
        server.core.tools().add(std::move(added));
    }
    void answer() { nodes.results.push_back(parse(R"({"content":[],"resultType":"complete"})")); }
    static json::object arguments(std::string_view sandbox) { return {{"sandbox_id", sandbox}, {"text", "hi"}}; }

    told_nodes nodes;
    harness server;
};

// A list that every node makes of its own.
class rows_tool final : public tool {
public:
    rows_tool()
    {
        definition_.name = "rows";
        definition_.input_schema = parse(R"({"type":"object"})");
        definition_.needs = scope::read;
        definition_.gathers = {"rows"};
    }
    const tool_definition& definition() const override { return definition_; }
    awaitable<tool_result> call(tool_context&, json::object) override
    {
        tool_result result;
        result.structured["rows"] = json::array{"own"};
        co_return result;
    }

private:
    tool_definition definition_;
};

}  // namespace

TEST_CASE("a call of the current revision for another node's sandbox is that node's, as it stands")
{
    cluster_of_two c;
    c.nodes.results.push_back(parse(R"({"resultType":"task","task":{"taskId":"job_n2_1"}})"));
    const auto response = c.server.modern("tools/call", call_params("echo", cluster_of_two::arguments(elsewhere)));
    CHECK(result_of(response).at("resultType") == "task");
    REQUIRE(c.nodes.calls.size() == 1);
    CHECK(c.nodes.calls[0].node == "n2");
    CHECK(c.nodes.calls[0].params.at("arguments") == json::value(cluster_of_two::arguments(elsewhere)));
}

TEST_CASE("the name of a sandbox leads to the node that has it, and a handle is not looked up")
{
    cluster_of_two c;
    c.nodes.results.push_back(parse(R"({"content":[],"resultType":"complete"})"));
    c.server.modern("tools/call", call_params("echo", cluster_of_two::arguments("theirs")));
    REQUIRE(c.nodes.calls.size() == 1);
    CHECK(c.nodes.calls[0].node == "n2");
    c.server.modern("tools/call", call_params("echo", cluster_of_two::arguments("mine")));
    c.server.modern("tools/call", call_params("echo", cluster_of_two::arguments(here)));
    c.server.modern("tools/call", call_params("echo", {{"text", "no sandbox"}}));
    CHECK(c.nodes.calls.size() == 1);
    CHECK(c.nodes.names == std::vector<std::string>{":theirs", ":mine"});
}

TEST_CASE("a tool that is about the latest sandbox is called where that is, unless the call names one")
{
    cluster_of_two c;
    auto latest = std::make_unique<test_tool>("latest", echo, owned_schema);
    latest->about(unnamed_subject::latest_sandbox);
    c.server.core.tools().add(std::move(latest));
    c.nodes.results.push_back(parse(R"({"content":[],"resultType":"complete"})"));
    c.server.modern("tools/call", call_params("latest", {{"text", "hi"}}));
    CHECK(c.nodes.calls.size() == 1);
    c.server.modern("tools/call", call_params("latest", cluster_of_two::arguments(here)));
    CHECK(c.nodes.calls.size() == 1);
}

TEST_CASE("a new sandbox is made where there is room, but with an image here")
{
    cluster_of_two c;
    c.add_about("create", unnamed_subject::new_sandbox);
    c.answer();
    c.server.modern("tools/call", call_params("create", {{"text", "hi"}}));
    CHECK(c.nodes.calls.size() == 1);
    c.server.modern("tools/call", call_params("create", {{"text", "hi"}, {"image", "debian"}}));
    CHECK(c.nodes.calls.size() == 1);
    CHECK(c.nodes.wished == std::vector<std::string>{":", "debian:"});
}

TEST_CASE("the labels of a new sandbox are a list or a single text; others lead nowhere")
{
    cluster_of_two c;
    c.add_about("create", unnamed_subject::new_sandbox);
    for (const json::value& labels :
         {json::value("gpu=a100"), json::value(json::array{"zone=b", "gpu=a100"}), json::value(json::array{"gpu", 7}),
          json::value(json::array{"gpu=a100", "gpu=h100"}), json::value(nullptr)})
        c.server.modern("tools/call", call_params("create", {{"text", "theirs"}, {"image", "x"}, {"labels", labels}}));
    CHECK(c.nodes.wished == std::vector<std::string>{"x:gpu=a100", "x:gpu=a100,zone=b", "x:", "x:", "x:"});
}

TEST_CASE("a sandbox whose node does not answer is looked for, and answered here when it has come")
{
    cluster_of_two c;
    c.nodes.unreachable = true;
    const auto call = [&] {
        return c.server.modern("tools/call", call_params("echo", cluster_of_two::arguments(elsewhere)));
    };
    const auto lost = call();
    CHECK(result_of(lost).at("structuredContent").at("error_type") == "NodeUnreachable");
    c.nodes.again = "";
    const auto come = call();
    CHECK(result_of(come).at("structuredContent").at("text") == "hi");
    CHECK(c.nodes.looked_for == std::vector<std::string>(2, std::string(elsewhere)));
}

TEST_CASE("a call that a node may have carried out is repeated only where it changes nothing")
{
    cluster_of_two c;
    auto reads = std::make_unique<test_tool>("reads", echo, owned_schema);
    reads->reads_only();
    c.server.core.tools().add(std::move(reads));
    c.nodes.unreachable = true;
    c.nodes.why = node_unreachable::cause::unanswered;
    c.nodes.again = "";
    const auto lost = c.server.modern("tools/call", call_params("echo", cluster_of_two::arguments(elsewhere)));
    const auto& answer = result_of(lost).at("structuredContent").as_object();
    CHECK(answer.at("error_type") == "NodeUnreachable");
    CHECK(answer.at("may_have_run") == true);
    CHECK(c.nodes.calls.size() == 1);
    CHECK(c.nodes.looked_for.empty());
    const auto read = c.server.modern("tools/call", call_params("reads", cluster_of_two::arguments(elsewhere)));
    CHECK(result_of(read).at("structuredContent").at("text") == "hi");
    CHECK(c.nodes.looked_for.size() == 1);
    c.nodes.again.reset();
    const auto unread = c.server.modern("tools/call", call_params("reads", cluster_of_two::arguments(elsewhere)));
    CHECK(result_of(unread).at("structuredContent").at("error_type") == "NodeUnreachable");
    CHECK_FALSE(result_of(unread).at("structuredContent").as_object().contains("may_have_run"));
}

TEST_CASE("a node that had the sandbox says where it has gone, and the rest is found out")
{
    cluster_of_two cluster;
    cluster.nodes.gone_to = {{"n2", "n3"}};
    const auto ask = [&] {
        cluster.answer();
        cluster.server.modern("tools/call", call_params("echo", cluster_of_two::arguments(elsewhere)));
    };
    ask();
    CHECK(cluster.nodes.looked_for.empty());
    cluster.nodes.gone_to["n3"] = "n2";  // neither knows more
    cluster.nodes.again = "n4";
    ask();
    CHECK(cluster.nodes.looked_for == std::vector<std::string>{std::string(elsewhere)});
    std::string nodes;
    for (const auto& each : cluster.nodes.calls) nodes += each.node;
    CHECK(nodes == "n2n3n2n3n4");
}

TEST_CASE("what is about the default sandbox goes to its home, and what a result had no room for to where it is kept")
{
    cluster_of_two c;
    c.add_about("read", unnamed_subject::default_sandbox);
    const auto read = [&](json::object arguments) {
        c.answer();
        arguments["text"] = "hi";
        c.server.modern("tools/call", call_params("read", std::move(arguments)));
        return c.nodes.calls.size();
    };
    const std::string there = ".outputs/out_n2_0123456789abcdef0123456789abcdef.txt";
    const std::string own = ".outputs/out_n1_0123456789abcdef0123456789abcdef.txt";
    CHECK(read({{"path", "a.txt"}}) == 0);
    CHECK(read({{"path", there}}) == 1);
    c.nodes.home = "n2";
    CHECK(read({{"path", "a.txt"}}) == 2);
    CHECK(read({{"path", own}}) == 2);
    CHECK(read({{"path", "a.txt"}, {"sandbox_id", here}}) == 2);
    CHECK(read({{"path", "/app/results/" + there}}) == 3);
}

TEST_CASE(
    "a default sandbox whose home does not answer is looked for by its handle, and answered here when it has come")
{
    cluster_of_two c;
    c.add_about("read", unnamed_subject::default_sandbox);
    c.nodes.home = "n2";
    c.nodes.unreachable = true;
    const auto read = [&] { return c.server.modern("tools/call", call_params("read", {{"text", "hi"}})); };
    CHECK(result_of(read()).at("structuredContent").at("error_type") == "NodeUnreachable");
    CHECK(c.nodes.looked_for.empty());
    c.nodes.default_sandbox = "sbx_home_0123456789abcdef0123456789abcdef";
    c.nodes.again = "";
    CHECK(result_of(read()).at("structuredContent").at("text") == "hi");
    CHECK(c.nodes.looked_for == std::vector<std::string>{c.nodes.default_sandbox});
}

TEST_CASE("a resource of the default sandbox is at its home")
{
    cluster_of_two c;
    c.nodes.home = "n2";
    const caller who;
    for (const std::string root : {"workspace:///", "sandbox://default/"}) {
        CHECK(node_of_resource(who, root + "notes/a.txt?line=3", c.nodes) == "n2");
        CHECK(node_of_resource(who, root + ".outputs/out_n1_0123456789abcdef0123456789abcdef.txt?offset=5", c.nodes)
                  .empty());
    }
}

TEST_CASE("a call for a sandbox of this node is answered here")
{
    cluster_of_two c;
    const auto response = c.server.modern("tools/call", call_params("echo", cluster_of_two::arguments(here)));
    CHECK(result_of(response).at("structuredContent").at("text") == "hi");
    CHECK(c.nodes.calls.empty());
}

TEST_CASE("only arguments that are marked as handles lead to another node")
{
    cluster_of_two c;
    c.server.modern("tools/call", call_params("echo", {{"text", elsewhere}}));
    CHECK(c.nodes.calls.empty());
}

TEST_CASE(
    "a call in a session becomes one of the current revision on the other node, and its result one of the session's")
{
    cluster_of_two c;
    c.server.initialize("2025-06-18", parse(R"({"roots":{}})"));
    c.nodes.results.push_back(parse(
        R"({"content":[],"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"},"kept":1}})"));
    const auto response = c.server.request("tools/call", call_params("echo", cluster_of_two::arguments(elsewhere)), 7);
    CHECK_FALSE(result_of(response).contains("resultType"));
    CHECK(result_of(response).at("_meta") == parse(R"({"kept":1})"));
    REQUIRE(c.nodes.calls.size() == 1);
    const auto& meta = c.nodes.calls[0].params.at("_meta").as_object();
    CHECK(meta.at("io.modelcontextprotocol/protocolVersion") == "2026-07-28");
    CHECK(meta.at("io.modelcontextprotocol/clientCapabilities") == parse(R"({"roots":{}})"));
}

TEST_CASE("a question of the other node is put to the client of a session, and its answer goes with the next attempt")
{
    cluster_of_two c;
    c.server.initialize("2025-11-25", parse(R"({"elicitation":{}})"));
    c.nodes.results.push_back(parse(
        R"({"resultType":"input_required","requestState":"sealed","inputRequests":{"name":{"method":"elicitation/create","params":{"message":"Name?","requestedSchema":{"type":"object","properties":{}}}}}})"));
    c.nodes.results.push_back(parse(R"({"content":[],"resultType":"complete"})"));
    c.server.start("tools/call", call_params("echo", cluster_of_two::arguments(elsewhere)), 5);
    const auto question = c.server.next();
    CHECK(question.at("method") == "elicitation/create");
    c.server.respond(question.at("id"), parse(R"({"action":"accept","content":{}})"));
    CHECK(c.server.next().at("id") == 5);
    REQUIRE(c.nodes.calls.size() == 2);
    CHECK(c.nodes.calls[1].params.at("requestState") == "sealed");
    CHECK(c.nodes.calls[1].params.at("inputResponses").at("name").at("action") == "accept");
}

TEST_CASE("the model is told in the result that a node does not answer, others by an error")
{
    cluster_of_two c;
    c.server.core.tools().add(std::make_unique<test_tool>("slow", echo, R"({"type":"object"})", task_use::may));
    c.nodes.unreachable = true;
    const auto called = c.server.modern("tools/call", call_params("echo", cluster_of_two::arguments(elsewhere)));
    const auto& result = result_of(called);
    CHECK(result.at("isError") == true);
    CHECK(result.at("structuredContent").at("error_type") == "NodeUnreachable");
    CHECK(result.at("structuredContent").at("node") == "n2");
    const auto read = c.server.modern("tasks/get", {{"taskId", "job_n2_0123456789abcdef0123456789abcdef"}},
                                      parse(R"({"extensions":{"io.modelcontextprotocol/tasks":{}}})"));
    CHECK(error_code(read) == rpc_code::server_error);
}

TEST_CASE("a list that all nodes make together has the rows of all, and names those that are silent")
{
    told_nodes nodes;
    harness server;
    server.core.tools().add(std::make_unique<rows_tool>());
    server.core.work_with(nodes);
    nodes.lists = {{"n2", parse(R"({"structuredContent":{"rows":["theirs"]}})")}, {"n3", {}}};
    const auto response = server.modern("tools/call", call_params("rows"));
    const auto& structured = result_of(response).at("structuredContent");
    CHECK(structured.at("rows") == parse(R"({"r":["own","theirs"]})").at("r"));
    CHECK(structured.at("unreachable_nodes") == parse(R"({"r":["n3"]})").at("r"));
}

TEST_CASE("a subscription to a task of another node hears what that says of it")
{
    cluster_of_two c;
    c.server.core.tools().add(std::make_unique<test_tool>("slow", echo, R"({"type":"object"})", task_use::may));
    const std::string task = "job_n2_0123456789abcdef0123456789abcdef";
    json::object params{{"notifications", json::object{{"taskIds", json::array{json::string(task)}}}}};
    c.server.start_modern("subscriptions/listen", std::move(params),
                          parse(R"({"extensions":{"io.modelcontextprotocol/tasks":{}}})"));
    CHECK(c.server.next().at("method") == "notifications/subscriptions/acknowledged");
    REQUIRE(c.nodes.observed.size() == 1);
    CHECK(c.nodes.observed[0].method == task);
    c.nodes.tell({{"taskId", task}, {"status", "completed"}});
    const auto heard = c.server.next();
    CHECK(heard.at("method") == "notifications/tasks");
    CHECK(heard.at("params").at("status") == "completed");
    CHECK(heard.at("params").at("_meta").as_object().contains("io.modelcontextprotocol/subscriptionId"));
}

TEST_CASE("a list that changes is told to the other nodes, and one that changes there to the clients here")
{
    cluster_of_two c;
    json::object params{{"notifications", json::object{{"toolsListChanged", true}}}};
    c.server.start_modern("subscriptions/listen", std::move(params), json::object());
    CHECK(c.server.next().at("method") == "notifications/subscriptions/acknowledged");
    add(c.server, "more", echo, owned_schema);
    CHECK(c.server.next().at("method") == "notifications/tools/list_changed");
    CHECK(c.nodes.changed_lists == std::vector<std::string>{"tools"});
    c.server.core.list_changed_elsewhere("tools");
    CHECK(c.server.next().at("method") == "notifications/tools/list_changed");
    CHECK(c.nodes.changed_lists.size() == 1);
}
