#include "config/settings.hpp"
#include "test/sandboxes/upstream/upstream_stage.hpp"
#include "test/support/temporary_folder.hpp"

#include <fstream>

using namespace cmcp;
using namespace cmcp::test;

TEST_CASE("a server of an older revision is asked within a session")
{
    upstream_stage stage;
    const auto tools = stage.tools();
    REQUIRE(tools.size() == 1);
    CHECK(tools[0].server == "one");
    CHECK(tools[0].description == "Says it again");
    CHECK(stage.call() == parsed(said_hello));
    const auto& call = stage.other.last("tools/call");
    CHECK(holds(call.head, "mcp-session-id: session-1"));
    CHECK(holds(call.head, "mcp-protocol-version: 2025-11-25"));
    CHECK_FALSE(call.params.contains("_meta"));
    CHECK(stage.other.count("initialize") == 1);
    CHECK(stage.other.count("notifications/initialized") == 1);
    CHECK(stage.other.count("tools/list") == 1);
    CHECK(stage.all().states()[0].protocol == "2025-11-25");
    CHECK(stage.all().states()[0].calls == 1);
    run_coroutine(stage.io, stage.all().stop());
    CHECK(holds(stage.other.last("DELETE").head, "mcp-session-id: session-1"));
}

TEST_CASE("a server of 2026-07-28 is asked without a session")
{
    upstream_stage stage(true);
    stage.other.on["tools/list"] = [](const heard& to) {
        return as_json(to,
                       R"({"resultType":"complete","tools":[{"name":"echo","inputSchema":{"type":"object","properties":
            {"region":{"type":"string","x-mcp-header":"Region"},"text":{"type":"string"}}}}]})");
    };
    stage.other.on["tools/call"] = [](const heard& to) {
        return as_json(to, R"({"resultType":"complete","content":[]})");
    };
    CHECK(stage.call("echo", {{"region", "eu"}, {"text", "hello"}}) == parsed(R"({"content":[]})"));
    CHECK(holds(stage.other.last("tools/call").head, "mcp-param-region: eu"));
    CHECK(stage.call("echo", {{"region", "\xc3\xa4"}}) == parsed(R"({"content":[]})"));
    CHECK(holds(stage.other.last("tools/call").head, "mcp-param-region: =?base64?w6q=?="));
    const auto& call = stage.other.last("tools/call");
    CHECK(holds(call.head, "mcp-protocol-version: 2026-07-28"));
    CHECK(holds(call.head, "mcp-method: tools/call"));
    CHECK(holds(call.head, "mcp-name: echo"));
    CHECK_FALSE(holds(call.head, "mcp-session-id"));
    const auto& meta = object_of(call.params, "_meta");
    CHECK(text_of(meta, "io.modelcontextprotocol/protocolVersion") == "2026-07-28");
    CHECK(object_of(meta, "io.modelcontextprotocol/clientCapabilities").empty());
    CHECK(meta.contains("io.modelcontextprotocol/clientCapabilities"));
    CHECK(stage.other.count("initialize") == 0);
}

TEST_CASE("a session that has expired is opened once more")
{
    upstream_stage stage;
    stage.tools();
    stage.other.on["tools/call"] = [](const heard& to) {
        if (holds(to.head, "session-1")) return refused("404 Not Found");
        return as_json(to, said_hello);
    };
    CHECK(stage.call() == parsed(said_hello));
    CHECK(stage.other.count("initialize") == 2);
    stage.other.on["tools/call"] = [](const heard&) { return refused("404 Not Found"); };
    CHECK(holds(stage.failure(), "does not know the session that it has just opened"));
    CHECK(stage.other.count("initialize") == 3);
}

TEST_CASE("answers come as events, with progress before them")
{
    upstream_stage stage;
    stage.other.on["tools/call"] = [](const heard& to) {
        const auto token = jsonrpc::write_json(object_of(to.params, "_meta").at("progressToken"));
        const auto step = [&](const std::string& rest) {
            return event_of(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)" + token +
                            "," + rest + "}}");
        };
        return as_events(": hello\n\n" + step(R"("progress":1,"total":2,"message":"half\u001b[31m way")") +
                         step(R"("progress":1)") + step(R"("progress":0.5)") + step(R"("progress":"x")") +
                         step(R"("progress":2)") + event_of(response(to, said_hello)));
    };
    std::vector<upstream_progress> steps;
    stage.progress = [&](const upstream_progress& step) { steps.push_back(step); };
    CHECK(stage.call() == parsed(said_hello));
    REQUIRE(steps.size() == 2);
    CHECK(steps[0].progress == 1);
    CHECK(steps[0].total == 2.0);
    CHECK(steps[0].message == "half way");
    CHECK(steps[1].progress == 2);
}

TEST_CASE("a server's ping is answered and its questions are refused")
{
    upstream_stage stage;
    stage.other.on["tools/call"] = [](const heard& to) {
        return as_events(event_of(R"({"jsonrpc":"2.0","id":"p","method":"ping"})") +
                         event_of(R"({"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{}})") +
                         event_of(response(to, said_hello)));
    };
    CHECK(stage.call() == parsed(said_hello));
    const auto replies = [&] {
        std::vector<json::object> all;
        for (const auto& each : stage.other.requests)
            if (each.method.empty()) all.push_back(each.message);
        return all;
    };
    while (replies().size() < 2) stage.io.run_one();
    CHECK(replies()[0] == parsed(R"({"jsonrpc":"2.0","id":"p","result":{}})"));
    CHECK(number_of(object_of(replies()[1], "error"), "code") == -32601);
}

TEST_CASE("lists of tools have pages, and are read again when the server says that they changed")
{
    upstream_stage stage;
    stage.other.on["tools/list"] = [](const heard& to) {
        if (text_of(to.params, "cursor") == "next")
            return as_json(to, R"({"tools":[{"name":"two","inputSchema":{}}]})");
        return as_json(to, R"({"tools":[{"name":"one","inputSchema":{}}],"nextCursor":"next"})");
    };
    CHECK(stage.names() == std::vector<std::string>{"one", "two"});
    CHECK(stage.names() == std::vector<std::string>{"one", "two"});
    CHECK(stage.other.count("tools/list") == 2);
    stage.other.on["tools/call"] = [](const heard& to) {
        return as_events(event_of(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})") +
                         event_of(response(to, said_hello)));
    };
    stage.call("one");
    stage.other.on["tools/list"] = [](const heard& to) {
        return as_json(to, R"({"tools":[{"name":"three","inputSchema":{}}]})");
    };
    CHECK(stage.names() == std::vector<std::string>{"three"});
}

TEST_CASE("a server says on a stream of its own that its tools changed")
{
    for (const bool stateless : {false, true}) {
        upstream_stage stage(stateless);
        const std::string way = stateless ? "subscriptions/listen" : "GET";
        const auto changed = event_of(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
        stage.other.on[way] = [&](const heard&) {
            return script{{step::kind::send, header_of_events(), {}},
                          {step::kind::send, "", std::chrono::milliseconds(300)},
                          {step::kind::send, changed, {}},
                          {step::kind::hang, {}, {}}};
        };
        CHECK(stage.names() == std::vector<std::string>{"echo"});
        while (stage.other.count(way) == 0) stage.io.run_one();
        stage.other.on["tools/list"] = [](const heard& to) {
            return as_json(to, R"({"tools":[{"name":"new","inputSchema":{}}]})");
        };
        REQUIRE(eventually(stage.io, [&] { return stage.names() == std::vector<std::string>{"new"}; }));
        CHECK(stage.call("new") == parsed(said_hello));
        CHECK(stage.other.count(way) == 1);
    }
}

TEST_CASE("the operator chooses tools and who may use them")
{
    upstream_stage stage;
    stage.other.on["tools/list"] = [](const heard& to) {
        return as_json(to, R"({"tools":[{"name":"read_it","inputSchema":{}},{"name":"delete_it","inputSchema":{}}]})");
    };
    stage.config.upstreams[0].tools = {"*", "!delete_*"};
    stage.config.upstreams[0].principals = {"alice"};
    CHECK(stage.tools("bob").empty());
    CHECK(stage.tools("").empty());
    REQUIRE(stage.tools("alice").size() == 1);
    CHECK(stage.tools("alice")[0].name == "read_it");
    CHECK_THROWS_AS(run_coroutine(stage.io, stage.all().call("bob", "one", "read_it", {}, {})), upstream_problem);
    CHECK_THROWS_AS(run_coroutine(stage.io, stage.all().call("alice", "one", "delete_it", {}, {})), upstream_problem);
    CHECK(stage.other.count("tools/call") == 0);
    CHECK(stage.all().problems("bob").empty());
}

TEST_CASE("a call that is cancelled is called off at the server")
{
    upstream_stage stage;
    stage.tools();
    stage.other.on["tools/call"] = [](const heard&) { return script{{step::kind::hang, {}, {}}}; };
    canceller ends;
    std::exception_ptr failure;
    bool done = false;
    asio::co_spawn(stage.io, stage.all().call("", "one", "echo", {}, {}),
                   asio::bind_cancellation_slot(ends.slot(), [&](std::exception_ptr why, json::object) {
                       failure = why;
                       done = true;
                   }));
    while (stage.other.count("tools/call") == 0) stage.io.run_one();
    const auto id = stage.other.last("tools/call").id;
    ends.cancel();
    while (!done || stage.other.count("notifications/cancelled") == 0) stage.io.run_one();
    CHECK(jsonrpc::write_json(stage.other.last("notifications/cancelled").params.at("requestId")) == id);
    try {
        std::rethrow_exception(failure);
    } catch (const boost::system::system_error& aborted) {
        CHECK(aborted.code() == asio::error::operation_aborted);
    }
}

TEST_CASE("secrets of the entry are sent, and are in no sentence")
{
    upstream_stage stage;
    stage.config.upstreams[0].headers = {{"Authorization", "Bearer very-secret-token"}};
    stage.other.on["tools/call"] = [](const heard& to) {
        return refused("401 Unauthorized", R"({"jsonrpc":"2.0","id":)" + to.id +
                                               R"(,"error":{"code":-1,"message":"bad Bearer very-secret-token"}})");
    };
    const auto failure = stage.failure();
    CHECK(holds(stage.other.last("tools/call").head, "authorization: bearer very-secret-token"));
    CHECK(holds(failure, "HTTP 401"));
    CHECK(holds(failure, "credentials"));
    CHECK_FALSE(holds(failure, "very-secret"));
    CHECK_FALSE(holds(stage.problems(), "very-secret"));
}

TEST_CASE("a server may be on this machine by name, and over TLS with an authority of the operator's")
{
    test_ca authority("localhost");
    auto tls = authority.server_context();
    temporary_folder folder;
    upstream_stage stage;
    stage.config.web_ca_file = folder.path / "ca.pem";
    std::ofstream(stage.config.web_ca_file) << authority.authority_pem;
    peer& secure = stage.others.emplace_back(stage.io, true, &tls);
    stage.config.upstreams[0].url = "https://localhost:" + std::to_string(secure.web.port()) + "/mcp";
    CHECK(stage.call() == parsed(said_hello));
    CHECK(secure.count("tools/call") == 1);
}

TEST_CASE("an error of a tool is a result")
{
    upstream_stage stage;
    stage.other.on["tools/call"] = [](const heard& to) {
        return as_json(
            to, R"({"isError":true,"content":[{"type":"text","text":"no such file"}],"structuredContent":{"a":1}})");
    };
    CHECK(flag_of(stage.call(), "isError"));
}
