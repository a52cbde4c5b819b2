#include "config/settings.hpp"
#include "test/sandboxes/upstream/upstream_stage.hpp"
#include "upstream/reply_receiver.hpp"
#include "upstream/tool_list.hpp"
#include "upstream/upstream_text.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

script result_of_call(const heard& to, const std::string& result) { return as_json(to, result); }

/// The sentence of a call when tools/call is answered so.
std::string failure_for(peer::answers answers, std::chrono::milliseconds timeout = std::chrono::seconds(60))
{
    upstream_stage stage;
    stage.config.upstreams[0].timeout = timeout;
    stage.tools();
    stage.other.on["tools/call"] = std::move(answers);
    auto failure = stage.failure();
    // The next call is served, whatever happened, also on a busy machine.
    stage.config.upstreams[0].timeout = std::chrono::seconds(60);
    stage.other.on["tools/call"] = [](const heard& to) { return as_json(to, said_hello); };
    CHECK(stage.call() == parsed(said_hello));
    return failure;
}

std::string failure_with_result(const std::string& result)
{
    return failure_for([result](const heard& to) { return result_of_call(to, result); });
}

std::string failure_with_body(const std::string& body)
{
    return failure_for([body](const heard&) { return send(answer(body, "application/json")); });
}

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

/// The list of a server that lists so.
tool_list list_of(const std::string& tools)
{
    static const upstream_entry any{"one"};
    tool_list list(any);
    list.add_page(parsed(R"({"tools":)" + tools + "}"));
    return list;
}

std::string tool_named(const std::string& name, const std::string& more = {})
{
    return R"({"name":")" + name + R"(","inputSchema":{"type":"object"})" + more + "}";
}

}  // namespace

TEST_CASE("a server that hangs costs its own calls the time limit")
{
    using std::chrono::milliseconds;
    const script hang{{step::kind::hang, {}, {}}};
    CHECK(holds(failure_for([&](const heard&) { return hang; }, milliseconds(1000)), "not answered within 1"));
    // within its header, within its body, within its events
    const auto after = [](const std::string& text) {
        return script{{step::kind::send, text, {}}, {step::kind::hang, {}, {}}};
    };
    CHECK(holds(failure_for([&](const heard&) { return after("HTTP/1.1 200 OK\r\nContent-"); }, milliseconds(1000)),
                "not answered within"));
    CHECK(holds(failure_for([&](const heard&) { return after(header_of_events()); }, milliseconds(1000)),
                "not answered within"));
    CHECK(holds(failure_for(
                    [&](const heard&) {
                        return after("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{");
                    },
                    milliseconds(1000)),
                "not answered within"));
}

TEST_CASE("a server that drips costs its own calls the time limit")
{
    using std::chrono::milliseconds;
    const auto drip = [](const heard&) {
        return script{{step::kind::send, header_of_events(), {}},
                      {step::kind::drip, std::string(10'000, ':'), milliseconds(20)}};
    };
    CHECK(holds(failure_for(drip, milliseconds(1000)), "not answered within"));
    const auto heartbeats = [](const heard&) {
        return script{{step::kind::send, header_of_events(), {}},
                      {step::kind::endless, ": alive\n\n", milliseconds(20)}};
    };
    CHECK(holds(failure_for(heartbeats, milliseconds(1000)), "not answered within"));
}

TEST_CASE("a server that hangs does not hold up the others")
{
    upstream_stage stage;
    peer& second = stage.others.emplace_back(stage.io);
    second.on["server/discover"] = [](const heard&) { return script{{step::kind::hang, {}, {}}}; };
    stage.config.upstreams = {upstream_stage::entry("slow", second), upstream_stage::entry("one", stage.other)};
    stage.config.upstreams[0].timeout = std::chrono::milliseconds(1000);
    second.on["initialize"] = second.on["server/discover"];
    CHECK(stage.names() == std::vector<std::string>{"echo"});
    CHECK(holds(stage.problems(), "slow: The upstream server slow has not answered within"));
    CHECK(stage.call() == parsed(said_hello));
    CHECK(stage.all().states()[0].status == "failed");
    CHECK(stage.all().states()[1].status == "ready");
}

TEST_CASE("a server that is not there is a problem of its own")
{
    upstream_stage stage;
    stage.config.upstreams[0].url = "http://127.0.0.1:1/mcp";
    CHECK(stage.tools().empty());
    CHECK(holds(stage.problems(), "cannot be reached"));
    CHECK(holds(stage.failure(), "cannot be reached"));
}

TEST_CASE("huge answers are cut off")
{
    const std::string mebibyte(1 << 20, 'x');
    CHECK(holds(
        failure_for([&](const heard&) {
            return script{{step::kind::send, header_of_events() + "data: \"", {}}, {step::kind::endless, mebibyte, {}}};
        }),
        "more than 16 MiB"));
    CHECK(holds(failure_for([&](const heard&) {
                    return script{{step::kind::send, header_of_events(), {}},
                                  {step::kind::endless, "data: " + mebibyte + "\n", {}}};
                }),
                "more than 16 MiB"));
    CHECK(holds(failure_for([&](const heard&) {
                    return script{{step::kind::send, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", {}},
                                  {step::kind::endless, mebibyte, {}}};
                }),
                "more than 16 MiB"));
    CHECK(holds(failure_for([&](const heard&) {
                    return send(
                        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n");
                }),
                "more than 16 MiB"));
    // messages that nobody waits for
    CHECK(
        holds(failure_for([&](const heard&) {
                  const auto data = R"({"jsonrpc":"2.0","method":"x","params":{"a":")" + mebibyte + "\"}}";
                  return script{{step::kind::send, header_of_events(), {}}, {step::kind::endless, event_of(data), {}}};
              }),
              "several that are too much together"));
}

TEST_CASE("a huge header is cut off")
{
    const auto huge = [](const heard&) {
        return send("HTTP/1.1 200 OK\r\nX-Long: " + std::string(100'000, 'a') + "\r\nContent-Length: 0\r\n\r\n");
    };
    CHECK(holds(failure_for(huge), "header of more than 64 KiB"));
    const auto many = [](const heard&) {
        return script{{step::kind::send, "HTTP/1.1 200 OK\r\n", {}}, {step::kind::endless, "X-One: two\r\n", {}}};
    };
    CHECK(holds(failure_for(many), "header of more than 64 KiB"));
}

TEST_CASE("answers that are no HTTP, no JSON or no JSON-RPC are problems")
{
    CHECK(holds(failure_for([](const heard&) { return send("hello\r\n\r\n"); }), "no valid HTTP"));
    CHECK(holds(failure_for([](const heard&) {
                    return script{{step::kind::close, {}, {}}};
                }),
                "closed the connection"));
    CHECK(holds(failure_for([](const heard&) { return send(answer("<html>")); }), "text/html"));
    CHECK(holds(failure_for([](const heard&) { return refused("500 Internal Server Error", "oh"); }), "HTTP 500"));
    CHECK(holds(failure_for([](const heard&) { return refused("202 Accepted"); }), "without a result"));
    CHECK(holds(failure_with_body("not JSON"), "no JSON-RPC"));
    CHECK(holds(failure_with_body("[]"), "no JSON-RPC"));
    CHECK(holds(failure_with_body("{}"), "no JSON-RPC"));
    CHECK(holds(failure_with_body("\"\xff\""), "no JSON-RPC"));
    CHECK(holds(failure_with_body(R"({"jsonrpc":"2.0","id":1,"result":)" + nested(5000) + "}"), "nested deeper"));
    CHECK(holds(failure_with_body(R"({"jsonrpc":"2.0","id":1,"result":{"a":1e999}})"), "out of range"));
}

TEST_CASE("answers to other requests are no answers")
{
    CHECK(holds(failure_with_body(R"({"jsonrpc":"2.0","id":424242,"result":{"content":[]}})"), "without a result"));
    CHECK(holds(failure_with_body(R"({"jsonrpc":"2.0","id":"1","result":{"content":[]}})"), "without a result"));
    CHECK(holds(failure_for([](const heard& to) {
                    auto other = to;
                    other.id = "424242";
                    return as_events(event_of(response(other, said_hello)));
                }),
                "without a result"));
}

TEST_CASE("the first answer counts")
{
    upstream_stage stage;
    stage.other.on["tools/call"] = [](const heard& to) {
        return as_events(event_of(response(to, said_hello)) + event_of(response(to, R"({"content":[]})")) +
                         event_of(response(to, "7")));
    };
    CHECK(stage.call() == parsed(said_hello));
    stage.other.on["tools/call"] = [](const heard& to) {
        return send(
            answer("[" + response(to, said_hello) + "," + response(to, R"({"content":[]})") + "]", "application/json"));
    };
    CHECK(stage.call() == parsed(said_hello));
}

TEST_CASE("results that are none of a tool are problems")
{
    CHECK(holds(failure_with_result("{}"), "no result of a tool"));
    CHECK(holds(failure_with_result("[]"), "no object"));
    CHECK(holds(failure_with_result("null"), "no object"));
    CHECK(holds(failure_with_result(R"({"content":"hello"})"), "no list `content`"));
    CHECK(holds(failure_with_result(R"({"content":[7]})"), "a part of `content`"));
    CHECK(holds(failure_with_result(R"({"content":[{"type":"text"}]})"), "a part of `content`"));
    CHECK(holds(failure_with_result(R"({"content":[{"type":"exec","text":"x"}]})"), "a part of `content`"));
    CHECK(holds(failure_with_result(R"({"content":[],"isError":"yes"})"), "isError"));
    CHECK(holds(failure_with_result(R"({"content":[],"structuredContent":7})"), "structuredContent"));
    CHECK(holds(failure_with_result(R"({"resultType":"input_required","inputRequests":{}})"), "input_required"));
    CHECK(holds(failure_with_result(R"({"resultType":"task","taskId":"t"})"), "\"task\""));
}

TEST_CASE("an error of the protocol is a sentence without what a terminal obeys")
{
    const auto failure = failure_for([](const heard& to) {
        return send(answer(R"({"jsonrpc":"2.0","id":)" + to.id +
                               R"(,"error":{"code":-32602,"message":"bad\u001b]0;title\u0007 \u202ename\r\n2"}})",
                           "application/json"));
    });
    CHECK(failure == "The upstream server one refused tools/call: bad name 2 (-32602).");
    CHECK(holds(failure_for([](const heard& to) {
                    return send(answer(R"({"jsonrpc":"2.0","id":)" + to.id + R"(,"error":{}})", "application/json"));
                }),
                "refused tools/call"));
}

TEST_CASE("a redirect leads nowhere")
{
    upstream_stage stage;
    origin& elsewhere = stage.others.emplace_back(stage.io).web;
    stage.tools();
    for (const char* status : {"301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect"}) {
        stage.other.on["tools/call"] = [&](const heard&) {
            return send(answer({}, "text/plain", "Location: " + elsewhere.url("/mcp") + "\r\n", status));
        };
        CHECK(holds(stage.failure(), "redirects a POST, which goes nowhere else"));
    }
    CHECK(elsewhere.connections == 0);
}

TEST_CASE("sessions with ids that cannot be sent back are none")
{
    upstream_stage stage;
    stage.other.on["initialize"] = [](const heard& to) {
        return as_json(to, R"({"protocolVersion":"2025-11-25"})", "Mcp-Session-Id: a b\r\n");
    };
    CHECK(stage.tools().empty());
    CHECK(holds(stage.problems(), "cannot be sent back"));
}

TEST_CASE("a server with an unknown revision is not asked")
{
    upstream_stage stage;
    stage.other.on["initialize"] = [](const heard& to) {
        return as_json(to, R"({"protocolVersion":"1999-01-01\u001b[2J"})");
    };
    CHECK(stage.tools().empty());
    CHECK(holds(stage.problems(), "speaks the revision \"1999-01-01\""));
    CHECK(stage.other.count("tools/list") == 0);
}

TEST_CASE("lists of tools that do not end are cut off")
{
    upstream_stage stage;
    stage.other.on["tools/list"] = [](const heard& to) {
        return as_json(to, R"({"tools":[{"name":"one","inputSchema":{}}],"nextCursor":"again"})");
    };
    CHECK(stage.names() == std::vector<std::string>{"one"});
    CHECK(stage.other.count("tools/list") == 2);
    CHECK(holds(stage.problems(), "does not end"));

    upstream_stage growing;
    growing.other.on["tools/list"] = [n = 0](const heard& to) mutable {
        const auto next = std::to_string(++n);
        return as_json(to, R"({"tools":[{"name":"t)" + next + R"(","inputSchema":{}}],"nextCursor":")" + next + "\"}");
    };
    CHECK(growing.tools().size() == tool_list::most_pages);
    CHECK(holds(growing.problems(), "does not end"));
}

TEST_CASE("a list of tools that is none is a problem")
{
    for (const char* list : {"{}", R"({"tools":7})", R"({"tools":{}})"}) {
        upstream_stage stage;
        stage.other.on["tools/list"] = [list](const heard& to) { return as_json(to, list); };
        CHECK(stage.tools().empty());
        CHECK(holds(stage.problems(), "no list of tools"));
    }
}

TEST_CASE("too many tools are left out")
{
    std::string all = "[";
    for (std::size_t i = 0; i < 1500; ++i) all += (i == 0 ? "" : ",") + tool_named("t" + std::to_string(i));
    const auto list = list_of(all + "]");
    CHECK(list.tools.size() == tool_list::most_tools);
    REQUIRE(list.complaints.size() == 1);
    CHECK(holds(list.complaints[0], "more than 1000 tools"));
}

TEST_CASE("tools with bad names are left out")
{
    const auto list = list_of("[" + tool_named("") + "," + tool_named("a b") + "," + tool_named(R"(a\u202eb)") + "," +
                              tool_named("../x") + "," + tool_named("x;y") + "," + tool_named(std::string(65, 'a')) +
                              "," + tool_named("Good_name.v-2") + R"(,7,{"name":7},{})" + "]");
    REQUIRE(list.tools.size() == 1);
    CHECK(list.tools[0].name == "Good_name.v-2");
    CHECK(list.complaints.size() == 9);
    CHECK(holds(list.complaints[2], "\"ab\""));
}

TEST_CASE("a name that is listed twice means the first tool")
{
    const auto list = list_of("[" + tool_named("a", R"(,"description":"first")") + "," +
                              tool_named("a", R"(,"description":"second")") + "]");
    REQUIRE(list.tools.size() == 1);
    CHECK(list.tools[0].description == "first");
    CHECK(holds(list.complaints[0], "listed twice"));
}

TEST_CASE("tools with schemas that are none are left out")
{
    const std::string huge = R"({"description":")" + std::string(70'000, 'x') + "\"}";
    const auto list = list_of(R"([{"name":"a"},{"name":"b","inputSchema":7},{"name":"c","inputSchema":[]},)"
                              R"({"name":"d","inputSchema":)" +
                              huge + R"(},{"name":"e","inputSchema":{},"outputSchema":"x"}])");
    CHECK(list.tools.empty());
    CHECK(list.complaints.size() == 5);
}

TEST_CASE("complaints about a list are bounded")
{
    std::string all = "[7";
    for (int i = 0; i < 500; ++i) all += ",7";
    CHECK(list_of(all + "]").complaints.size() == 11);
}

TEST_CASE("descriptions are bounded and have nothing unseen in them")
{
    CHECK(shown_text("a\x1b[31;1mb\x1b[0mc", 100) == "abc");
    CHECK(shown_text("a\x1b]0;title\x07z", 100) == "az");
    CHECK(shown_text("a\x1bPq#1\x1b\\z", 100) == "az");
    CHECK(shown_text(std::string_view("a\0b\bc\x7f", 6), 100) == "abc");
    CHECK(shown_text("a\u202eb\u2066c\u200bd\u200de\ufefff\u00adg\u2060h", 100) == "abcdefgh");
    CHECK(shown_text("a\U000e0041\U000e0042b", 100) == "ab");
    CHECK(shown_text("a\u009b31mb", 100) == "a31mb");
    CHECK(shown_text("a\xff\xc3z\xe2\x82", 100) == "az");
    CHECK(shown_text("one\ntwo\tthree", 100) == "one\ntwo\tthree");
    CHECK(shown_line("one\ntwo", 100) == "one two");
    CHECK(shown_text("\u00e4\u00e4", 3) == "\u00e4");
    CHECK(shown_text(std::string(1 << 20, 'x'), 100).size() == 100);
    CHECK(shown_text("a\x1b", 100) == "a");
    const auto list = list_of(
        "[" + tool_named("a", R"(,"title":"T\u001b[1m\nU","description":")" + std::string(100'000, 'x') + "\"") + "]");
    CHECK(list.tools[0].title == "T U");
    CHECK(list.tools[0].description.size() == tool_list::longest_description);
}

TEST_CASE("a server cannot have more calls under way than it may")
{
    upstream_stage stage;
    stage.tools();
    stage.other.on["tools/call"] = [](const heard&) { return script{{step::kind::hang, {}, {}}}; };
    task_group calls(stage.io.get_executor());
    struct waiting {
        static awaitable<> call(upstream_servers& all)
        {
            auto work = all.call("", "one", "echo", {}, {});
            co_await std::move(work);
        }
    };
    for (int i = 0; i < 32; ++i) calls.spawn("call", waiting::call(stage.all()));
    while (stage.other.count("tools/call") < 32) stage.io.run_one();
    CHECK(holds(stage.failure(), "32 calls under way"));
    calls.cancel_all();
    run_coroutine(stage.io, calls.wait_idle(std::chrono::seconds(10)));
    stage.other.on["tools/call"] = [](const heard& to) { return as_json(to, said_hello); };
    CHECK(stage.call() == parsed(said_hello));
}

TEST_CASE("a server's flood of questions is not answered for ever")
{
    upstream_stage stage;
    stage.tools();
    stage.other.on["tools/call"] = [](const heard& to) {
        std::string all;
        for (int i = 0; i < 1000; ++i)
            all += event_of(R"({"jsonrpc":"2.0","id":)" + std::to_string(i) + R"(,"method":"ping"})");
        return as_events(all + event_of(response(to, said_hello)));
    };
    CHECK(stage.call() == parsed(said_hello));
    stage.other.on["tools/call"] = [](const heard& to) { return as_json(to, said_hello); };
    CHECK(stage.call() == parsed(said_hello));
    CHECK(stage.other.count("") <= link_messages::most_replies);
}

TEST_CASE("a server that floods its stream of changes is not listened to for long")
{
    upstream_stage stage;
    stage.other.on["GET"] = [](const heard&) {
        return script{{step::kind::send, header_of_events(), {}},
                      {step::kind::endless, event_of("{\"a\":\"" + std::string(100'000, 'x') + "\"}"), {}}};
    };
    stage.tools();
    while (stage.other.count("GET") == 0) stage.io.run_one();
    CHECK(stage.call() == parsed(said_hello));
    CHECK(stage.call() == parsed(said_hello));
    CHECK(stage.other.count("GET") == 1);
}

TEST_CASE("TLS of a server must be trusted")
{
    test_ca authority;
    auto tls = authority.server_context();
    upstream_stage stage;
    peer& secure = stage.others.emplace_back(stage.io, false, &tls);
    stage.config.upstreams = {upstream_stage::entry("one", secure)};
    CHECK(stage.tools().empty());
    CHECK(holds(stage.problems(), "No secure connection"));
    CHECK(secure.requests.empty());
}

TEST_CASE("a call is sent once, although its connection ends without an answer")
{
    upstream_stage stage;
    stage.tools();
    stage.other.on["tools/call"] = [](const heard&) { return script{{step::kind::close, {}, {}}}; };
    CHECK(holds(stage.failure(), "closed the connection"));
    CHECK(stage.other.count("tools/call") == 1);
}

TEST_CASE("a packed answer is unpacked within the limits or refused")
{
    const auto packed = [](const heard&) {
        return send(answer("\x1f\x8b not gzip", "application/json", "Content-Encoding: gzip\r\n"));
    };
    CHECK_FALSE(failure_for(packed).empty());
}
