#include "config/settings.hpp"
#include "http/refusal.hpp"
#include "rest/byte_range.hpp"
#include "rest/content_disposition.hpp"
#include "rest/form_file.hpp"
#include "rest/rest_reply.hpp"
#include "rest/rest_routes.hpp"
#include "test/inbound/transport/http_fixture.hpp"
#include "test/support/catch.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace cmcp;
using namespace cmcp::test;

namespace {

std::string tool_call(std::string_view tool, std::string_view body, std::string_view extra = {})
{
    return post("/mcp/tools/" + std::string(tool), body, extra);
}

byte_range range(std::string_view text, std::uint64_t size) { return read_range(text, size); }

}  // namespace

TEST_CASE("a tool is called over REST with its arguments and answers with its result object")
{
    http_fixture server;
    raw_client client(server.port());
    const auto answer = client.request(tool_call("echo", R"({"text":"hi"})"));
    CHECK(answer.status == 200);
    CHECK(answer.parsed().is_object());
    const auto bare = client.request("POST /mcp/tools/wait2 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
    CHECK(bare.status == 404);
    CHECK(bare.parsed().as_object().contains("error"));
}

TEST_CASE("over REST an image comes in the result object, unless it can be downloaded")
{
    const json::object image{{"type", "image"}, {"data", "AAAA"}, {"mimeType", "image/png"}};
    const json::object text{{"type", "text"}, {"text", "{}"}};
    json::object result{{"structuredContent", {{"title", "page"}}}, {"content", json::array{text, image}}};
    CHECK(rest_object(result) ==
          json::object{{"title", "page"},
                       {"images", json::array{json::object{{"data", "AAAA"}, {"mimeType", "image/png"}}}}});
    result["structuredContent"] = json::object{{"file_links", json::array{"http://x"}}};
    CHECK_FALSE(rest_object(result).contains("images"));
    result["structuredContent"] = json::object{{"title", "page"}};
    result["content"] = json::array{text};
    CHECK_FALSE(rest_object(result).contains("images"));
}

TEST_CASE("bad input over REST is 4xx with a sentence")
{
    http_fixture server;
    for (const char* body : {"{", "[1]", "\"x\"", "{} {}", "\xff"}) {
        raw_client client(server.port());
        INFO(body);
        const auto answer = client.request(tool_call("echo", body));
        CHECK(answer.status == 400);
        CHECK_FALSE(answer.parsed().at("error").as_string().empty());
    }
}

namespace {

struct refused_request {
    std::string bytes;
    int status;
    std::string type;
};

void each_has_one_shape(http_fixture& server, const std::vector<refused_request>& all)
{
    for (const auto& each : all) {
        INFO(each.bytes);
        const auto answer = request(server, each.bytes);
        CHECK(answer.status == each.status);
        const auto body = answer.parsed().as_object();
        REQUIRE(body.contains("error_type"));
        REQUIRE(body.contains("request_id"));
        CHECK(body.size() == 3);
        CHECK(body.at("request_id").as_string() == answer.field("x-request-id"));
        CHECK(body.at("error_type").as_string() == each.type);
        CHECK_FALSE(body.at("error").as_string().empty());
    }
}

}  // namespace

TEST_CASE("every refusal on a path that is not MCP's has one shape")
{
    http_fixture server(http_fixture::quick_settings());
    each_has_one_shape(
        server,
        {{tool_call("nothing", "{}"), 404, "NotFound"},
         {get("/mcp/tools/echo"), 405, "MethodNotAllowed"},
         {post("/docs", "{}"), 405, "MethodNotAllowed"},
         {get("/openapi.json", "Origin: http://evil.example\r\n"), 403, "Forbidden"},
         {"POST /mcp/tools/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
          415, "UnsupportedMediaType"},
         {tool_call("echo", "{"), 400, "InvalidRequest"},
         {tool_call("echo", "[1]"), 400, "InvalidRequest"},
         {tool_call("unusable", "{}"), 503, "NotAvailable"}});
}

TEST_CASE("a refusal for want of a token has the shape of the others")
{
    auto config = http_fixture::quick_settings();
    config.auth_tokens = {{"me", "secret"}};
    http_fixture server(config);
    each_has_one_shape(server, {{tool_call("echo", "{}"), 401, "Unauthorized"},
                                {get("/openapi.json", "Authorization: Bearer wrong\r\n"), 401, "Unauthorized"}});
}

TEST_CASE("pages without a secret need no token, and nothing else does without")
{
    auto config = http_fixture::quick_settings();
    config.auth_tokens = {{"me", "secret"}};
    http_fixture server(config);
    const auto status = [&server](const std::string& bytes) { return request(server, bytes).status; };
    CHECK(status("GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\r\n") == 200);
    CHECK(status(get("/")) == 404);
    CHECK(status(get("/docs")) == 200);
    CHECK(status(get("/healthz")) == 200);
    CHECK(status(get("/livez")) == 200);
    CHECK(status(get("/healthz?verbose")) == 401);
    CHECK(status(get("/metrics")) == 401);
    CHECK(status(get("/openapi.json")) == 401);
    CHECK(status(get("/sse", "Accept: text/event-stream\r\n")) == 401);
    CHECK(status(post("/messages", "{}")) == 401);
    CHECK(status(post("/mcp", "{}")) == 401);
    CHECK(status(tool_call("echo", "{}")) == 401);
    CHECK(status(post("/docs", "{}")) == 405);
    CHECK(status(post("/healthz", "{}")) == 405);
    CHECK(status(get("/nothing")) == 404);
    CHECK(status(tool_call("echo", "{}", "Authorization: Bearer secret\r\n")) == 200);
}

TEST_CASE("where nothing is, a request without credentials is no refused login")
{
    auto config = http_fixture::quick_settings();
    config.auth_tokens = {{"me", "secret"}};
    http_fixture server(config);
    const auto refused = [&server] {
        const auto text = request(server, get("/metrics", "Authorization: Bearer secret\r\n")).body;
        const auto begin = text.find("\ncmcp_logins_refused_total{");
        const auto end = text.find("\n#", std::min(begin, text.size()));
        return begin == std::string::npos ? std::string() : text.substr(begin, end - begin);
    };
    const auto before = refused();
    for (const auto* path : {"/favicon.ico", "/robots.txt", "/.well-known/oauth-authorization-server"})
        CHECK(request(server, get(path)).status == 404);
    CHECK(refused() == before);
    CHECK(request(server, get("/nothing", "Authorization: Bearer wrong\r\n")).status == 404);
    const auto guessed = refused();
    CHECK(guessed != before);
}

TEST_CASE("at the paths of MCP and where nothing is a refusal is a JSON-RPC error, whatever the method")
{
    auto config = http_fixture::quick_settings();
    config.public_url = "https://example.org/behind";
    http_fixture server(config);
    for (const auto* path :
         {"/", "/mcp", "/mcp/", "/sse", "/messages", "/behind/messages", "/nothing", "/mcp/nothing"}) {
        INFO(path);
        const auto answer = request(server, "PUT " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
        const bool is_there = std::string_view(path) != "/" && !std::string_view(path).ends_with("nothing");
        CHECK(answer.status == (is_there ? 405 : 404));
        CHECK(answer.parsed().as_object().contains("jsonrpc"));
    }
    for (const auto* path : {"/docs", "/openapi.json", "/livez", "/mcp/tools/echo"}) {
        INFO(path);
        const auto answer = request(server, "PUT " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
        CHECK(answer.parsed().as_object().contains("error_type"));
    }
}

TEST_CASE("openapi.json describes what the routes say of themselves")
{
    router routes;
    const auto serve = [](exchange&) -> awaitable<> { co_return; };
    const auto describe = [](const http_request&) {
        route_operation thing;
        thing.path = "/thing";
        thing.id = "make_thing";
        thing.tag = "things";
        thing.takes["application/json"] = json::object{{"type", "object"}};
        thing.body_required = false;
        thing.gives["image/png"] = json::object{{"type", "string"}};
        return std::vector<route_operation>{thing};
    };
    routes.add({.methods = {"POST"}, .path = "/thing", .serve = serve, .operations = describe});
    routes.add({.methods = {"GET"}, .path = "/silent", .serve = serve});
    const auto document = openapi_document(routes, {});
    const auto& paths = document.at("paths").as_object();
    CHECK(paths.size() == 1);
    const auto& post = paths.at("/thing").at("post");
    CHECK(post.at("operationId") == "make_thing");
    CHECK(post.at("requestBody").at("required") == false);
    CHECK(post.at("requestBody").at("content").at("application/json").at("schema").at("type") == "object");
    CHECK(post.at("responses").at("200").at("content").as_object().contains("image/png"));
}

TEST_CASE("a tool's own refusal has its type, its status and what else the tool says")
{
    const auto reply = [](json::object structured) {
        structured["success"] = false;
        structured["error"] = "Do this.";
        return rest_reply({{"isError", true}, {"structuredContent", std::move(structured)}}, "req-1");
    };
    const auto parsed = [](const http_reply& from) { return json::parse(from.body).as_object(); };
    CHECK(reply({{"error_type", "NotFound"}}).status == 404);
    CHECK(reply({{"error_type", "NotAvailable"}}).status == 503);
    CHECK(reply({{"error_type", "SandboxError"}}).status == 500);
    const auto untyped = reply({{"results", json::array()}});
    CHECK(untyped.status == 400);
    CHECK(parsed(untyped) == json::object{{"results", json::array()},
                                          {"success", false},
                                          {"error", "Do this."},
                                          {"error_type", "ToolFailed"},
                                          {"request_id", "req-1"}});
    const auto ended = reply({{"cause", "timeout"}});
    CHECK(ended.status == 200);
    CHECK_FALSE(parsed(ended).contains("error_type"));
    CHECK_FALSE(parsed(ended).contains("request_id"));
}

TEST_CASE("a run that finds no place is refused, and Retry-After says when to try again")
{
    const auto reply = [](const char* whose) {
        json::object structured{{"success", false}, {"error", "Wait."}, {"stdout", ""}, {"cause", "error"}};
        return rest_reply({{"isError", true},
                           {"structuredContent", std::move(structured)},
                           {"_meta", {{"container-mcp/busy", whose}}}},
                          "req-1");
    };
    CHECK(reply("server").status == 503);
    CHECK(reply("caller").status == 429);
    const auto refused = reply("caller");
    REQUIRE(refused.fields.size() == 1);
    CHECK(refused.fields[0] == std::pair<std::string, std::string>{"Retry-After", "1"});
    const auto body = json::parse(refused.body).as_object();
    CHECK(body.at("error_type") == "Busy");
    CHECK(body.at("stdout") == "");
    const auto sandbox = rest_reply({{"isError", true}, {"structuredContent", {{"error_type", "Busy"}}}}, "req-1");
    CHECK(sandbox.status == 503);
    CHECK(sandbox.fields.size() == 1);
}

TEST_CASE(
    "what another server has is refused with 503 and Retry-After where nothing was done, and with 502 where it may "
    "have run")
{
    const auto reply = [](json::object structured) {
        structured["error_type"] = "NodeUnreachable";
        return rest_reply({{"isError", true}, {"structuredContent", std::move(structured)}}, "req-1");
    };
    const auto wait = [](const http_reply& from) { return from.fields.empty() ? "" : from.fields[0].second; };
    CHECK(reply({}).status == 503);
    CHECK(wait(reply({})) == "5");
    CHECK(wait(reply({{"retry_after", 7}})) == "7");
    CHECK(reply({{"may_have_run", true}, {"retry_after", 5}}).status == 502);
    CHECK(wait(reply({{"may_have_run", true}, {"retry_after", 5}})) == "5");
}

TEST_CASE("the types of refusals are described in openapi.json and in docs/rest.md")
{
    http_fixture server;
    const auto described = request(server, get("/openapi.json")).parsed();
    const auto& schema = described.at("components").at("schemas").at("Error").at("properties").at("error_type");
    std::ifstream file(std::string(CMCP_SOURCE_DIR) + "/docs/rest.md");
    const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    CHECK(schema.at("enum").as_array().size() == refusal_types.size());
    for (const auto& each : refusal_types) {
        INFO(each.name);
        const auto& names = schema.at("enum").as_array();
        CHECK(std::find(names.begin(), names.end(), json::value(each.name)) != names.end());
        CHECK(page.find("| `" + std::string(each.name) + "` | " + std::string(each.status) + " |") !=
              std::string::npos);
    }
    for (int status = 400; status < 600; ++status) {
        const auto name = refusal_type_of(status);
        CHECK(std::any_of(refusal_types.begin(), refusal_types.end(),
                          [name](const auto& each) { return each.name == name; }));
    }
}

TEST_CASE("a tool that cannot work is not offered, and who calls it learns what switches it on")
{
    http_fixture server;
    const auto described = request(server, get("/openapi.json")).parsed();
    CHECK(described.at("paths").as_object().contains("/mcp/tools/echo"));
    CHECK_FALSE(described.at("paths").as_object().contains("/mcp/tools/unusable"));
    const auto refused = request(server, tool_call("unusable", "{}"));
    CHECK(refused.parsed().at("error") == "It needs a wheel: set WHEEL.");
    const std::string id = server.open_session();
    const auto listed =
        request(server, post("/mcp", R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})", in_session(id)));
    CHECK(listed.body.find("\"echo\"") != std::string::npos);
    CHECK(listed.body.find("\"unusable\"") == std::string::npos);
}

TEST_CASE("a tool's result comes as an event for those who ask for events")
{
    http_fixture server;
    raw_client client(server.port());
    const std::string body = R"({"text":"hi"})";
    client.send(
        "POST /mcp/tools/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: "
        "text/event-stream\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body);
    CHECK(client.read_head().status == 200);
    const auto event = client.read_event();
    CHECK(event.name == "result");
    CHECK(event.parsed().is_object());
    CHECK(client.read_event().ended);
}

TEST_CASE("over REST each stream has its events with text and offset, a heartbeat is a comment, the result comes last")
{
    http_fixture server;
    raw_client client(server.port());
    client.send(tool_call("print", "{}", "Accept: text/event-stream\r\n"));
    CHECK(client.read_head().status == 200);
    CHECK(client.read_comment() == ": running");
    const auto out = client.read_event();
    CHECK(out.name == "stdout");
    CHECK(out.data == R"({"text":"one\n","offset":0})");
    const auto err = client.read_event();
    CHECK(err.name == "stderr");
    CHECK(err.data == R"({"text":"two","offset":5})");
    const auto log = client.read_event();
    CHECK(log.name == "log");
    CHECK(log.data == R"({"level":"info","logger":"test","data":"what it does"})");
    CHECK(client.read_comment() == ": heartbeat");
    CHECK(client.read_event().name == "result");
    CHECK(client.read_event().ended);
}

TEST_CASE("who takes no events over REST gets the result alone")
{
    http_fixture server;
    raw_client client(server.port());
    const auto answer = client.request(tool_call("print", "{}", "Accept: application/json\r\n"));
    CHECK(answer.status == 200);
    CHECK(answer.body.find("one") == std::string::npos);
}

TEST_CASE("a client that closes its connection cancels its call over REST")
{
    http_fixture server;
    {
        raw_client client(server.port());
        client.send(tool_call("wait", "{}"));
        REQUIRE(eventually([&] { return server.probe().started == 1; }));
    }
    CHECK(eventually([&] { return server.probe().cancelled == 1; }));
}

TEST_CASE("the REST paths are described, and the page asks nothing of other hosts")
{
    http_fixture server;
    raw_client client(server.port());
    const auto described = client.request(get("/openapi.json")).parsed().as_object();
    CHECK(described.at("openapi") == "3.1.0");
    CHECK(described.at("paths").as_object().contains("/mcp/tools/echo"));
    const auto page = client.request(get("/docs"));
    CHECK(page.status == 200);
    CHECK(page.field("content-security-policy").find("default-src 'none'") == 0);
    CHECK(page.body.find("http://") == std::string::npos);
    CHECK(page.body.find("https://") == std::string::npos);
}

TEST_CASE("a range is a part of the file, or the whole where it is not understood")
{
    using kind = byte_range::kind;
    CHECK(range("bytes=0-4", 10).length == 5);
    CHECK(range("bytes=5-", 10).first == 5);
    CHECK(range("bytes=5-", 10).length == 5);
    CHECK(range("bytes=-3", 10).first == 7);
    CHECK(range("bytes=-30", 10).length == 10);
    CHECK(range("bytes=8-100", 10).length == 2);
    for (const char* beyond : {"bytes=10-", "bytes=10-12", "bytes=-0"})
        CHECK(range(beyond, 10).is == kind::unsatisfiable);
    for (const char* other :
         {"bytes=0-1,3-4", "lines=1-2", "bytes=", "bytes=a-b", "bytes=4-2", "bytes=99999999999999999999-"})
        CHECK(range(other, 10).is == kind::whole);
    CHECK(read_range(std::nullopt, 10).is == kind::whole);
    CHECK(range("bytes=0-", 0).is == kind::unsatisfiable);
}

TEST_CASE("a file's name cannot end the header or name another place")
{
    CHECK(content_disposition("a b.txt") == "attachment; filename=\"a b.txt\"; filename*=UTF-8''a%20b.txt");
    const auto hostile = content_disposition("x\"\r\nSet-Cookie: a=b/../\\\xc3\xa4");
    CHECK(hostile.find('\r') == std::string::npos);
    CHECK(hostile.find('\n') == std::string::npos);
    CHECK(hostile ==
          "attachment; filename=\"x___Set-Cookie: a=b_..____\"; "
          "filename*=UTF-8''x%22%0D%0ASet-Cookie%3A%20a%3Db%2F..%2F%5C%C3%A4");
}

TEST_CASE("a form with one file is read in pieces of any size")
{
    const std::string file = std::string("\r\n--B is no boundary\0\r\n-", 23) + "--";
    const std::string text =
        "--BO\r\nContent-Disposition: form-data; name=\"sandbox_id\"\r\n\r\nsbx\r\n"
        "--BO\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\nContent-Type: x/y\r\n\r\n" +
        file + "\r\n--BO--\r\n";
    for (std::size_t step : {std::size_t{1}, std::size_t{7}, text.size()}) {
        form_file form("BO");
        std::string got;
        for (std::size_t at = 0; at < text.size(); at += step) got += form.put(std::string_view(text).substr(at, step));
        CHECK(got == file);
        CHECK(form.complete());
        CHECK(form.file_name() == "a.bin");
        CHECK(form.fields().at("sandbox_id") == "sbx");
    }
}

TEST_CASE("a form that is cut, or has a second file, is not complete")
{
    const std::string part = "--BO\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\n\r\nx";
    form_file cut("BO");
    cut.put(part);
    CHECK_FALSE(cut.complete());
    form_file two("BO");
    two.put(part + "\r\n" + part + "\r\n--BO--\r\n");
    CHECK(two.at() == form_file::state::bad);
    form_file empty("BO");
    CHECK(
        empty.put("--BO\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\n\r\n\r\n--BO--\r\n").empty());
    CHECK(empty.complete());
    CHECK(form_file::boundary_of("multipart/form-data; boundary=\"a b\"") == "a b");
    CHECK_FALSE(form_file::boundary_of("text/plain; boundary=x"));
}

TEST_CASE("openapi.json is made once for those who see the same, and is not sent again to who has it")
{
    http_fixture server;
    raw_client client(server.port());
    const auto first = client.request(get("/openapi.json"));
    CHECK(first.status == 200);
    const auto tag = first.field("etag");
    REQUIRE_FALSE(tag.empty());
    const auto again = client.request(get("/openapi.json"));
    CHECK(again.body == first.body);
    CHECK(again.field("etag") == tag);
    const auto unchanged = client.request(get("/openapi.json", "If-None-Match: " + tag + "\r\n"));
    CHECK(unchanged.status == 304);
    CHECK(unchanged.body.empty());
    CHECK(client.request(get("/openapi.json", "If-None-Match: \"other\"\r\n")).status == 200);
}

TEST_CASE("a large answer arrives whole, whoever reads slowly")
{
    http_fixture server;
    const std::string text(6'000'000, 'x');
    raw_client client(server.port());
    const auto answer = client.request(tool_call("echo", R"({"text":")" + text + R"(","max_output":1048576})"));
    CHECK(answer.status == 200);
    CHECK(answer.body.size() > 500'000);
    CHECK(answer.parsed().is_object());
}
