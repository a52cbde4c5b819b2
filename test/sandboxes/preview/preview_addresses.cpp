#include "preview/preview_names.hpp"
#include "preview/preview_request.hpp"
#include "test/support/catch.hpp"

#include <utility>
#include <vector>

namespace cmcp {
namespace {

const std::string digits = "0123456789abcdef0123456789abcdef";

port_link link_to(std::uint16_t port, const std::string& node = "node")
{
    const auto sandbox = "sbx_" + node + "_" + digits;
    return {"ann", sandbox, port, 0, std::to_string(port) + "." + sandbox + ".1.2.3"};
}

std::string label_of(const std::string& url)
{
    const auto begin = url.find("://") + 3;
    return url.substr(begin, url.find('.') - begin);
}

http_request request_of(std::string path, std::vector<std::pair<std::string_view, std::string_view>> fields,
                        std::string query = "")
{
    http_request request;
    request.method = "GET";
    request.path = std::move(path);
    request.query = std::move(query);
    request.fields = std::move(fields);
    return request;
}

}  // namespace

TEST_CASE("a Host lies beneath a domain by whole labels only", "[preview]")
{
    for (const char* host : {"a.preview.example", "A.B.PREVIEW.example:8000", "x.preview.example.", ".preview.example",
                             "x.preview.example.:1", "-.preview.example"})
        CHECK(is_beneath(host, "preview.example"));
    for (const char* host : {"preview.example", "xpreview.example", "a.preview.example.evil", "", "preview.example:80"})
        CHECK_FALSE(is_beneath(host, "preview.example"));
    CHECK_FALSE(is_beneath("a.b", ""));
    CHECK(is_beneath("a.preview.example:8443", "preview.example:8443"));
}

TEST_CASE("a label names a port and a sandbox, or nothing", "[preview]")
{
    const auto label = read_label("8000-" + digits + ".localhost:8080", "localhost");
    REQUIRE(label);
    CHECK(label->port == 8000);
    CHECK(is_label_of(*label, link_to(8000)));
    CHECK_FALSE(is_label_of(*label, link_to(8001)));
    CHECK(read_label("65535-" + digits + ".LOCALHOST.", "localhost"));
    for (const std::string& wrong :
         {"0-" + digits, "08000-" + digits, "65536-" + digits, "-1-" + digits, "+1-" + digits, "8000-" + digits + "0",
          "8000-" + digits.substr(1), "8000" + digits, "x." + digits, "8000-" + digits.substr(1) + "g",
          digits + "-8000", "a.8000-" + digits, "8000-" + digits + "-", "8000-" + digits + "_node",
          "8000-" + digits + "-a_b", "8000-" + digits + "-a-", "8000-" + digits + "-" + std::string(25, 'a')})
        CHECK_FALSE(read_label(wrong + ".localhost", "localhost"));
}

TEST_CASE("a label names the sandbox's node as well, and leads to no other node's sandbox", "[preview]")
{
    const auto label = read_label("8000-" + digits + "-Box-1.localhost:8080", "localhost");
    REQUIRE(label);
    CHECK(label->port == 8000);
    CHECK(label->digits == digits);
    CHECK(label->node == "box-1");
    CHECK(is_label_of(*label, link_to(8000, "box-1")));
    CHECK_FALSE(is_label_of(*label, link_to(8000, "box-2")));
    CHECK_FALSE(is_label_of(*label, link_to(8001, "box-1")));
    const auto without = read_label("8000-" + digits + ".localhost", "localhost");
    REQUIRE(without);
    CHECK(without->node.empty());
    CHECK(is_label_of(*without, link_to(8000, "box-1")));
}

TEST_CASE("the node is in a label as far as DNS has room for it", "[preview]")
{
    const std::string longest(24, 'n');
    for (const auto& [node, named] : std::vector<std::pair<std::string, bool>>{
             {"n", true}, {"a-b", true}, {longest, true}, {longest + "n", false}, {"box-", false}, {"-", false}}) {
        CAPTURE(node);
        const auto link = link_to(65535, node);
        const auto label = label_of(url_of(link, "https://mcp.example", "p.example"));
        CHECK(label == "65535-" + digits + (named ? "-" + node : ""));
        CHECK(label.size() <= 63);
        const auto read = read_label(label + ".p.example", "p.example");
        REQUIRE(read);
        CHECK(read->node == (named ? node : ""));
        CHECK(is_label_of(*read, link));
    }
}

TEST_CASE("a link's address has the scheme and port of the server, and a label that DNS allows", "[preview]")
{
    const auto link = link_to(65535);
    CHECK(url_of(link, "http://127.0.0.1:8000", "") == "http://127.0.0.1:8000/preview/" + link.token + "/");
    CHECK(url_of(link, "https://mcp.example", "p.example") ==
          "https://65535-" + digits + "-node.p.example/?cmcp_preview=" + link.token);
    CHECK(url_of(link, "http://[::1]:8000", "localhost").find(".localhost:8000/?") != std::string::npos);
    CHECK(url_of(link, "http://[::1]", "localhost").find(".localhost/?") != std::string::npos);
    CHECK(url_of(link, "https://x/base:1", "p.example").find(".p.example/?") != std::string::npos);
    CHECK(url_of(link, "http://x:8000", "localhost:9").find(".localhost:9/?") != std::string::npos);
}

TEST_CASE("a link is taken apart as it was put together", "[preview]")
{
    const auto link = link_to(8000);
    const auto below = token_in(url_of(link, "http://x:1/base", "") + "a/b?c#d", "http://x:1/base", "");
    CHECK(below.text == link.token);
    CHECK(below.rest == "/a/b?c#d");
    CHECK(token_in("http://x:1/preview/tok", "http://x:1", "").rest == "/");
    const auto own = token_in(url_of(link, "http://x:1", "p.example") + "&c=1#d", "http://x:1", "p.example");
    CHECK(own.text == link.token);
    CHECK(own.rest == "/?c=1#d");
    for (const char* other : {"http://x:2/preview/tok/", "http://x:1.evil/preview/tok/",
                              "http://evil/?cmcp_preview=tok", "http://x:1/mcp", "", "cmcp_preview=tok"})
        CHECK(token_in(other, "http://x:1", "p.example").text.empty());
}

TEST_CASE("the token leaves the query, and nothing else does", "[preview]")
{
    CHECK(without_preview_parameter("a=1&cmcp_preview=x&b=2") == "a=1&b=2");
    CHECK(without_preview_parameter("cmcp_preview=x&cmcp_preview=y").empty());
    CHECK(without_preview_parameter("cmcp_previews=x") == "cmcp_previews=x");
}

TEST_CASE("a request below a path names its token and what the program gets", "[preview]")
{
    const auto wanted =
        read_preview_request(request_of("/preview/tok/a//%2e%2e/b", {{"host", "here:1"}}, "x=1"), "", "http://here:1");
    REQUIRE(wanted);
    CHECK(wanted->tokens == std::vector<std::string>{"tok"});
    CHECK(wanted->target == "/a//%2e%2e/b?x=1");
    CHECK(wanted->view.prefix == "/preview/tok");
    CHECK_FALSE(wanted->lacks_slash);
    const auto behind_proxy =
        read_preview_request(request_of("/preview/tok/", {{"host", "here"}}), "", "https://here/base");
    CHECK(behind_proxy->view.prefix == "/base/preview/tok");
    CHECK(behind_proxy->view.scheme == "https");
    CHECK(read_preview_request(request_of("/preview/tok", {{"host", "here"}}), "", "http://here:1")->lacks_slash);
}

TEST_CASE("the cookies of an origin bring the token, and those of a scheme have its name", "[preview]")
{
    const std::string host = "8000-" + digits + ".p.example";
    const auto request = request_of("/", {{"host", host}, {"cookie", "cmcp_preview=a; __Host-cmcp_preview=b; x=c"}});
    CHECK(read_preview_request(request, "p.example", "http://x")->tokens == std::vector<std::string>{"a"});
    CHECK(read_preview_request(request, "p.example", "https://x")->tokens == std::vector<std::string>{"b"});
    CHECK_FALSE(read_preview_request(request_of("/", {{"host", "x.p.example"}}), "p.example", "http://x"));
}

TEST_CASE("a first visit leads to a path of the same origin", "[preview]")
{
    preview_request wanted;
    for (const char* target : {"//evil.example/a", "/\\evil.example/a", "\\/evil.example/a", "/evil.example/a"}) {
        wanted.target = target;
        wanted.view.scheme = "https";
        const http_reply reply = lead_to_page(wanted, "token", 5);
        CHECK(reply.status == 303);
        CHECK(reply.fields[0].second == "/evil.example/a");
        CHECK(reply.fields.back().second ==
              "__Host-cmcp_preview=token; Path=/; Max-Age=5; HttpOnly; SameSite=Lax; Secure");
    }
}

TEST_CASE("a page that tells of a problem repeats nothing as markup", "[preview]")
{
    const auto page = preview_problem(request_of("/", {{"accept", "text/html"}}), 502, "<script>\"&");
    CHECK(page.body.find("<script>") == std::string::npos);
    CHECK(page.content_type.starts_with("text/html"));
    CHECK(preview_problem(request_of("/", {}), 502, "why").problem == "why");
}

}  // namespace cmcp
