#include "web/page_log.hpp"

#include "test/outbound/web/fake_browser.hpp"
#include "test/support/catch.hpp"

#include <string>

using namespace cmcp;
using namespace cmcp::test;
using event_kind = page_event::kind;

namespace {

json::object object(const std::string& text) { return json::parse(text).as_object(); }

std::string said(const std::string& arguments)
{
    page_log log;
    log.hear("Runtime.consoleAPICalled", object(R"({"type":"log","args":)" + arguments + "}"));
    return log.events().size() == 1 ? log.events()[0].text : "(nothing)";
}

std::string text(const std::string& value)
{
    return json::serialize(json::object{{"type", "string"}, {"value", value}});
}

json::object message(const std::string& type, const std::string& text)
{
    return {{"type", type}, {"args", json::array{json::object{{"type", "string"}, {"value", text}}}}};
}

json::object thrown(const std::string& description)
{
    json::object exception{{"type", "object"}, {"subtype", "error"}, {"description", description}};
    return {{"exceptionDetails", json::object{{"text", "Uncaught"},
                                              {"url", "http://a.test/app.js"},
                                              {"lineNumber", 2},
                                              {"columnNumber", 8},
                                              {"exception", std::move(exception)}}}};
}

json::object entry(const std::string& source, const std::string& level, const std::string& text,
                   const std::string& url = {})
{
    return {{"entry", json::object{{"source", source}, {"level", level}, {"text", text}, {"url", url}}}};
}

}  // namespace

TEST_CASE("a console message reads as a developer sees it")
{
    const std::string number = R"({"type":"number","value":2,"description":"2"})",
                      undefined = R"({"type":"undefined"})";
    const std::string null = R"({"type":"object","subtype":"null","value":null})";
    const std::string record =
        R"({"type":"object","description":"Object","preview":{"description":"Object","overflow":true,)"
        R"("properties":[{"name":"a","type":"number","value":"1"},)"
        R"({"name":"b","type":"string","value":"x"}]}})";
    const std::string list = R"({"type":"object","subtype":"array","description":"Array","preview":{"subtype":"array",)"
                             R"("properties":[{"name":"0","type":"number","value":"1"},)"
                             R"({"name":"1","type":"object","value":"Object"}]}})";
    const std::string error = R"({"type":"object","subtype":"error","description":"TypeError: no\n  at f","preview":{)"
                              R"("properties":[{"name":"stack","type":"string","value":"cut"}]}})";
    CHECK(said("[" + text("a") + "," + number + R"(,{"type":"boolean","value":true}])") == "a 2 true");
    CHECK(said("[" + undefined + "," + null + "]") == "undefined null");
    CHECK(said("[" + record + "]") == "{a: 1, b: \"x\", …}");
    CHECK(said("[" + list + "]") == "[1, Object]");
    CHECK(said("[" + error + "]") == "TypeError: no\n  at f");
    CHECK(said("[" + text("%c%s is %d%% of %o, %x") + "," + text("color: red") + "," + text("it") + "," + number + "," +
               text("all") + "," + text("more") + "]") == "it is 2% of all, %x more");
    CHECK(said("[" + text("%s") + "]") == "%s");
    CHECK(said("[]").empty());
    for (const char* hostile : {"1", "null", R"([1,"x",[]])", R"([{"type":5,"preview":[],"value":{"a":1}}])",
                                R"([{"type":"object","preview":{"properties":[1,{"name":2}]}}])"})
        said(hostile);  // nothing is thrown
}

TEST_CASE("errors and failed requests of a page are kept with their place, advice and the DevTools' own events are not")
{
    page_log log;
    CHECK_FALSE(log.hear("Page.lifecycleEvent", {}));
    CHECK(log.hear("Runtime.executionContextCreated", {}));
    log.hear("Runtime.exceptionThrown", thrown("ReferenceError: x is not defined\n    at http://a.test/app.js:3:9"));
    log.hear("Log.entryAdded",
             entry("network", "error", "Failed to load resource: the server responded with a status of 404 (Not Found)",
                   "http://a.test/no.png"));
    log.hear("Log.entryAdded",
             entry("network", "error", "Failed to load resource: net::ERR_CONNECTION_REFUSED", "http://b.test/"));
    log.hear("Log.entryAdded", entry("deprecation", "warning", "Do not use this"));
    log.hear("Log.entryAdded", entry("other", "verbose", "A hint"));
    log.hear("Log.entryAdded", entry("security", "error", "Refused by its policy"));
    log.hear("Log.entryAdded", entry("worker", "info", "from a worker"));
    log.hear("Runtime.consoleAPICalled", message("clear", ""));
    log.hear("Runtime.consoleAPICalled", message("assert", "never"));
    REQUIRE(log.events().size() == 6);
    CHECK(log.events()[0].what == event_kind::uncaught_error);
    CHECK(log.events()[0].at == "http://a.test/app.js:3:9");
    CHECK(log.events()[1].status == 404);
    CHECK(log.events()[1].text.empty());
    CHECK(log.events()[2].text == "net::ERR_CONNECTION_REFUSED");
    const auto lines = page_log_lines(log.events(), 0, "http://a.test/page?x#y");
    CHECK(lines == std::vector<std::string>{"Uncaught error: ReferenceError: x is not defined (/app.js:3:9)",
                                            "Failed request: /no.png: 404",
                                            "Failed request: http://b.test/: net::ERR_CONNECTION_REFUSED",
                                            "console.error: Refused by its policy",
                                            "console.error: Assertion failed: never", "console.info: from a worker"});
    CHECK(page_log_lines({}, 0, "http://a.test/").empty());
}

TEST_CASE("what a page writes without end is counted, and takes no room of its errors")
{
    page_log log;
    for (int i = 0; i < 900; ++i)
        log.hear("Runtime.consoleAPICalled", message("log", std::to_string(i) + std::string(3000, 'x')));
    CHECK(log.is_flooded());  // by its bytes
    page_log same;
    for (int i = 0; i < 900; ++i) same.hear("Runtime.consoleAPICalled", message("log", "again"));
    CHECK_FALSE(same.is_flooded());
    REQUIRE(same.events().size() == 1);
    CHECK(same.events()[0].times == 900);
    for (int i = 0; i < 50; ++i) same.hear("Runtime.consoleAPICalled", message("log", "a\nb" + std::to_string(i)));
    same.hear("Runtime.exceptionThrown", thrown("Error: late"));
    CHECK(same.events().size() == 26);
    CHECK(same.left_out() == 26);
    CHECK(same.events().back().text == "Error: late");
    const auto lines = page_log_lines(same.events(), same.left_out(), "");
    CHECK(lines.size() == 13);
    CHECK(lines[0] == "Uncaught error: Error: late (http://a.test/app.js:3:9)");
    CHECK(lines[1] == "console.log: again, 900 times");
    CHECK(lines[2] == "console.log: a");
    CHECK(lines.back() == "The page wrote 40 more messages.");
    for (int i = 0; i < 100; ++i) same.hear("Runtime.consoleAPICalled", message("log", "b"));
    CHECK(same.is_flooded());
    same.hear("Runtime.exceptionThrown", thrown("Error: too late"));
    CHECK(same.events().back().text == "Error: late");

    std::size_t bytes = 0;
    for (const auto& each : log.events()) bytes += each.text.size();
    CHECK(bytes <= 8192);
    page_log unread;
    for (int i = 0; i < 8; ++i) unread.hear(unread_event, {});
    CHECK(unread.is_flooded());
    CHECK(unread.left_out() == 8);
}

TEST_CASE(
    "an event of a page's console that is too long is passed over, and its session hears of it; what comes behind it "
    "is read")
{
    fake_browser b(1 << 20);
    std::vector<std::string> heard;
    b.connection->listen("S1", [&heard](const std::string& method, const json::object&) { heard.push_back(method); });
    auto call = b.call("", "A");
    b.hear();
    const std::string begin = R"({"method":"Runtime.consoleAPICalled","params":{"args":[{"type":"string","value":")";
    const std::string end = R"("}]},"sessionId":"S1"})";
    // Longer than any message may be, and with a session of the page's own making.
    b.say_beside(begin + std::string(3 << 20, 'x') + R"(\"sessionId\":\"S2\"})" + std::string(100, 'y') + end + '\0' +
                 begin + "short" + end + '\0' + R"({"id":1,"result":{"x":1}})");
    b.until(call);
    CHECK(*call->text == R"({"x":1})");
    CHECK(heard == std::vector<std::string>{std::string(unread_event), "Runtime.consoleAPICalled"});
}
