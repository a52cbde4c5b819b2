#include "async/blocking_pool.hpp"
#include "config/settings.hpp"
#include "runs/run_admission.hpp"
#include "test/program/tools/web_support.hpp"
#include "web/search_provider.hpp"
#include "web/web_searcher.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

/// A searcher over the real sandbox, whose provider is a web server of the test.
struct search_stage {
    json::object search(settings config, const std::string& query = "a & b", std::size_t most = 10)
    {
        if (config.web_search_url.empty()) config.web_search_url = web.url("/");
        web_page_reader reader(config, backend, runs, pool);
        web_searcher searcher(config, client, reader, pool);
        return run_coroutine(io, searcher.search(caller(), progress, query, most), std::chrono::seconds(60));
    }
    static settings of(const std::string& provider)
    {
        settings config;
        config.web_search_provider = provider;
        config.web_search_key = "the-secret-key";
        return config;
    }
    std::string error(const std::string& provider, const std::string& path, script steps)
    {
        web.on(path, std::move(steps));
        const auto reply = search(of(provider));
        CHECK(reply.at("success") == false);
        CHECK(reply.at("results").as_array().empty());
        return text(reply, "error");
    }

    asio::io_context io;
    blocking_pool pool;
    origin web{io};
    http_client client{io.get_executor(), {}};
    sandbox::native_backend backend{io.get_executor(), launcher_under_test()};
    run_admission runs{admission_limits()};
    recording_io progress{io.get_executor()};
};

std::string urls(const json::object& reply)
{
    std::string all;
    for (const auto& one : reply.at("results").as_array()) all += std::string(one.at("url").as_string()) + " ";
    return all;
}

}  // namespace

TEST_CASE("without a provider web_search names the settings to make")
{
    web_stage s;
    const auto result = s.call("web_search", {{"query", "x"}});
    CHECK(result.is_error);
    for (const char* name : {"WEB_SEARCH_PROVIDER", "WEB_SEARCH_URL", "WEB_SEARCH_KEY"})
        CHECK(has(text(result.structured, "error"), name));
    CHECK(s.call("web_search", {{"query", "  "}}).is_error);
}

TEST_CASE("settings that cannot be used stop the start")
{
    settings config = search_stage::of("searxng");
    CHECK_THROWS_AS(make_search_provider(config), std::runtime_error);
    config.web_search_url = "http://user:pw@example.com/";
    CHECK_THROWS_AS(make_search_provider(config), std::runtime_error);
    settings keyless = search_stage::of("brave");
    keyless.web_search_key.clear();
    CHECK_THROWS_AS(make_search_provider(keyless), std::runtime_error);
    CHECK(make_search_provider(settings()) == nullptr);
}

TEST_CASE("SearXNG is asked for JSON; each page comes once, tidied and cut")
{
    search_stage s;
    s.web.on("/search", send(answer(R"json({"results":[
        {"title":" One &amp; <b>only</b> ","url":"https://www.example.com/a/","content":"  some\n text "},
        {"title":"Again","url":"http://example.com/a#part","content":""},
        {"title":"Bad","url":"javascript:alert(1)","content":""},
        {"title":"Two","url":"https://example.com/b?q=1","content":null},
        {"title":"Three","url":"https://example.org/","content":"x < y and y > z"}]})json",
                                    "application/json")));
    auto reply = s.search(s.of("searxng"));
    INFO(json::serialize(reply));
    CHECK(has(s.web.requests.at(0), "GET /search?format=json&q=a%20%26%20b HTTP/1.1"));
    CHECK(urls(reply) == "https://www.example.com/a/ https://example.com/b?q=1 https://example.org/ ");
    CHECK(reply.at("results").at(0).at("title") == "One & only");
    CHECK(reply.at("results").at(0).at("snippet") == "some text");
    CHECK(reply.at("results").at(2).at("snippet") == "x < y and y > z");
    CHECK(reply.at("query") == "a & b");
    CHECK(reply.at("provider") == "searxng");
    CHECK(urls(s.search(s.of("searxng"), "q", 1)) == "https://www.example.com/a/ ");
    CHECK(has(s.progress.all_logs(), "reading the results"));
}

TEST_CASE("what SearXNG complains about is passed on")
{
    search_stage s;
    const auto json_error = [](std::string body, std::string status) {
        return send(answer(std::move(body), "application/json", {}, std::move(status)));
    };
    CHECK(has(s.error("searxng", "/search", json_error("forbidden", "403 Forbidden")), "search.formats"));
    CHECK(has(s.error("searxng", "/search", json_error("{}", "429 Too Many Requests")), "asked too often"));
    CHECK(has(s.error("searxng", "/search", json_error("{\"error\":\"No query\"}", "400 Bad Request")),
              "SearXNG answered 400: No query"));
    CHECK(has(s.error("searxng", "/search", json_error("<html>", "200 OK")), "and no JSON"));
    CHECK(has(s.error("searxng", "/search",
                      json_error(R"({"results":[],"unresponsive_engines":[["google","timeout"]]})", "200 OK")),
              "google"));
    s.web.on("/search", json_error("{\"results\":[]}", "200 OK"));
    CHECK(s.search(s.of("searxng")).at("results").as_array().empty());
}

TEST_CASE("Brave gets its key, and the key goes nowhere else")
{
    search_stage s;
    s.web.on("/", send(answer(R"({"web":{"results":[{"title":"T","url":"https://example.com/","description":"D"}]}})",
                              "application/json")));
    const auto reply = s.search(s.of("brave"), "q", 50);
    CHECK(urls(reply) == "https://example.com/ ");
    CHECK(reply.at("results").at(0).at("snippet") == "D");
    CHECK(has(s.web.requests.at(0), "X-Subscription-Token: the-secret-key\r\n"));
    CHECK(has(s.web.requests.at(0), "count=20"));
    const auto json_error = [](std::string body, std::string status) {
        return send(answer(std::move(body), "application/json", {}, std::move(status)));
    };
    CHECK(has(s.error("brave", "/", json_error("{}", "401 Unauthorized")), "WEB_SEARCH_KEY"));
    CHECK(has(s.error("brave", "/", json_error("{}", "429 Too Many Requests")), "quota"));
    CHECK(has(s.error("brave", "/", json_error(R"({"error":{"detail":"Invalid count"}})", "422 Unprocessable Entity")),
              "Invalid count"));
    CHECK_FALSE(has(json::serialize(reply), "the-secret-key"));
    const auto away =
        s.error("brave", "/", send("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"));
    CHECK(has(away, "127.0.0.1:1 is refused"));
}

TEST_CASE("DuckDuckGo's page is read in the sandbox")
{
    search_stage s;
    s.web.on(
        "/",
        send(answer(
            R"(<div class="result results_links"><h2><a class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.com%2Fa%3Fx%3D1&rut=z">First <b>hit</b></a></h2>
        <a class="result__snippet">Its <b>text</b></a></div>
        <div class="result result--ad"><a class="result__a" href="https://ads.example/">Ad</a></div>
        <div class="result"><a class="result__a" href="https://example.org/">Second</a></div>)")));
    const auto reply = s.search(s.of("duckduckgo"));
    INFO(json::serialize(reply));
    CHECK(urls(reply) == "https://example.com/a?x=1 https://example.org/ ");
    CHECK(reply.at("results").at(0).at("title") == "First hit");
    CHECK(reply.at("results").at(0).at("snippet") == "Its text");
    CHECK(has(s.error("duckduckgo", "/", send(answer("<form id=challenge-form></form>"))),
              "proof that a person searches"));
    CHECK(
        has(s.error("duckduckgo", "/", send(answer("", "text/html", {}, "503 Service Unavailable"))), "answered 503"));
}
