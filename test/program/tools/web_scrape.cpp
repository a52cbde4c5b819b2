#include "test/program/tools/web_support.hpp"

#include "config/settings.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

constexpr const char* article =
    R"(<!doctype html><html><head><title> The  title </title><base href="http://example.com/dir/">
<style>p{}</style></head><body><header><nav><a href="/home">Home</a></nav></header>
<main><h1>Head <em>line</em></h1><p>First <b>bold</b>, <a href="a.html">a link</a>.<br>Second line<script>alert(1)</script>
<span style="display: none">secret one</span></p><ul><li>one<li>two<ol><li>x</ol></ul><pre>  code
    here</pre><table><tr><th>A<th>B<tr><td>1<td>2|3</table><blockquote>quote</blockquote><div hidden>secret two</div>
<p aria-hidden="true">secret three</p><template>secret four</template><!-- secret five --></main>
<footer>foot</footer></body></html>)";

awaitable<tool_result> page_for(web_stage* stage, std::string path, std::string name)
{
    json::object arguments;
    arguments["url"] = stage->web.url(path);
    caller who;
    who.principal = name;
    auto result = co_await stage->start("web_scrape", std::move(arguments), std::move(who));
    co_return result;
}

awaitable<std::string> both_pages(web_stage* stage)
{
    auto executor = co_await asio::this_coro::executor;
    auto group = asio::experimental::make_parallel_group(
        asio::co_spawn(executor, page_for(stage, "/a", "one"), asio::deferred),
        asio::co_spawn(executor, page_for(stage, "/b", "other"), asio::deferred));
    auto [order, failed_a, found_a, failed_b, found_b] =
        co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
    co_return text(found_a.structured, "content") + text(found_b.structured, "content");
}

}  // namespace

TEST_CASE("web_scrape gives the main text of a page without what is not seen")
{
    web_stage s;
    const auto page = s.page(article);
    INFO(json::serialize(page));
    CHECK_FALSE(s.last.is_error);
    CHECK(page.at("success") == true);
    CHECK(page.at("error").is_null());
    CHECK(page.at("title") == "The title");
    CHECK(text(page, "url") == s.web.url("/page"));
    CHECK(page.at("status") == 200);
    CHECK(text(page, "content") ==
          "Head line\n\nFirst bold, a link.\nSecond line\n\n- one\n- two\n  1. x\n\n  code\n    here\n\nA | B\n1 | "
          "2|3\n\nquote");
}

TEST_CASE("web_scrape gives markdown, html and links")
{
    web_stage s;
    CHECK(text(s.page(article, {{"format", "markdown"}}), "content") ==
          "# Head *line*\n\nFirst **bold**, [a link](http://example.com/dir/a.html).\nSecond line\n\n- one\n- two\n  "
          "1. x\n\n"
          "```\n  code\n    here\n```\n\n| A | B |\n| --- | --- |\n| 1 | 2\\|3 |\n\n> quote");
    const auto html = text(s.page(article, {{"format", "html"}}), "content");
    CHECK(has(html, "<h1>Head <em>line</em></h1>"));
    CHECK(has(html, "<footer>foot</footer>"));
    for (const char* unseen : {"alert(1)", "secret", "<style"}) CHECK_FALSE(has(html, unseen));
    const auto links = s.page(article, {{"format", "links"}});
    CHECK(
        json::serialize(links.at("links")) ==
        R"([{"text":"Home","url":"http://example.com/home"},{"text":"a link","url":"http://example.com/dir/a.html"}])");
}

TEST_CASE("a selector chooses; one that matches nothing is no failure; one with an error is")
{
    web_stage s;
    const auto items = s.page(article, {{"selector", "ul > li"}});
    CHECK(text(items, "content") == "one\n\ntwo\n\n1. x");
    CHECK(items.at("matches") == 2);
    CHECK(text(s.page(article, {{"selector", "p:has(b) a[href$=html]"}, {"format", "html"}}), "content") ==
          "<a href=\"a.html\">a link</a>");
    const auto nothing = s.page(article, {{"selector", ".nothing"}});
    CHECK_FALSE(s.last.is_error);
    CHECK(nothing.at("success") == true);
    CHECK(text(nothing, "content").empty());
    CHECK(has(text(nothing, "hint"), "matched nothing"));
    for (const char* selector : {"li[", "", ":no-such-thing", "a >> b", "p:nth-child(x)"}) {
        INFO(selector);
        const auto wrong = s.page(article, {{"selector", selector}});
        CHECK(s.last.is_error);
        CHECK(wrong.at("success") == false);
        CHECK(has(text(wrong, "error"), "selector: "));
    }
    CHECK(s.page(article, {{"selector", std::string(5000, '*')}}).at("success") == false);
}

TEST_CASE("data in a script element is taken only by a selector that names it")
{
    web_stage s;
    const std::string html =
        "<script type=\"application/ld+json\">{\"a\": 1}</script><script>code()</script><p>text</p>";
    CHECK(text(s.page(html, {{"selector", "script[type*=json]"}}), "content") == "{\"a\": 1}");
    CHECK(text(s.page(html, {{"selector", "body *, head *"}}), "content") == "text");
    CHECK(s.page(html, {{"selector", "script:not([type])"}}).at("matches") == 0);
}

TEST_CASE("what cannot be fetched is told in a sentence, as a result")
{
    web_stage s;
    const auto error = [&](const std::string& url) {
        const auto page = s.scrape(url);
        CHECK(s.last.is_error);
        CHECK(page.at("success") == false);
        CHECK(text(page, "content").empty());
        CHECK(text(page, "url") == url);
        return text(page, "reason") + ": " + text(page, "error");
    };
    CHECK(has(error("no address"), "bad_url: url: \"no address\" is no absolute address"));
    CHECK(has(error("file:///etc/passwd"), "the scheme file: cannot be fetched"));
    CHECK(has(error("data:text/html,x"), "the scheme data: cannot be fetched"));
    CHECK(has(error("http://me:pw@example.com/"), "user name or password"));
    CHECK(has(error("http://10.0.0.1/"),
              "refused: 10.0.0.1:80 is refused: that address is not public (private (10.0.0.0/8))"));
    CHECK(has(error("http://[::1]/"), "(loopback)"));
    CHECK(has(error("http://0x7f.1:6000/"), "port 6000") == false);  // WEB_ALLOWED_PRIVATE opens all ports of 127.0.0.1
    CHECK(has(error("http://169.254.169.254/"), "(cloud metadata)"));
    s.web.on("/away", send("HTTP/1.1 302 Found\r\nLocation: http://192.168.1.1/\r\nContent-Length: 0\r\n\r\n"));
    CHECK(has(error(s.web.url("/away")), "refused: 192.168.1.1:80 is refused"));
}

TEST_CASE("an error page is a failure that shows what the server sent")
{
    web_stage s;
    s.web.on("/gone", send(answer("<title>Gone</title><p>It moved.", "text/html", {}, "410 Gone")));
    const auto page = s.scrape(s.web.url("/gone"));
    CHECK(s.last.is_error);
    CHECK(page.at("success") == false);
    CHECK(page.at("status") == 410);
    CHECK(has(text(page, "error"), "answered 410 Gone"));
    CHECK(text(page, "content") == "It moved.");
    CHECK(text(page, "title") == "Gone");
}

TEST_CASE("text and JSON come as they are, XML as text, other types not at all")
{
    web_stage s;
    CHECK(text(s.page("{\"a\": [1]}", {}, "application/json"), "content") == "{\"a\": [1]}");
    CHECK(text(s.page("<b>plain", {}, "text/plain"), "content") == "<b>plain");
    CHECK(has(text(s.page("plain", {{"selector", "p"}}, "text/plain"), "hint"), "selector was not used"));
    const std::string bomb =
        "<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b SYSTEM 'file:///etc/passwd'>]>"
        "<rss><item><title>I &amp; you</title><link>http://x/</link><y>&a;&b;</y></item></rss>";
    CHECK(text(s.page(bomb, {}, "application/rss+xml"), "content") == "I & you\nhttp://x/");
    CHECK(text(s.page(bomb, {{"selector", "item > link"}}, "text/xml"), "content") == "http://x/");
    const auto film = s.page("....", {}, "video/mp4");
    CHECK(s.last.is_error);
    CHECK(has(text(film, "error"), "data of type video/mp4, which cannot be read as text"));
    CHECK(text(s.page("<p>found by its bytes", {}, "application/octet-stream"), "content") == "found by its bytes");
    s.page(std::string("\x7f"
                       "ELF\0\0",
                       6),
           {}, "application/octet-stream");
    CHECK(s.last.is_error);
}

TEST_CASE("a page is read alike by a clone of the interpreter that is kept loaded")
{
    web_stage cold;
    const auto by_a_new_one = [&](json::object more) { return text(cold.page(article, std::move(more)), "content"); };
    for (const way started : ways()) {
        web_stage s(with_loopback(), started);
        for (const char* format : {"text", "markdown", "html"})
            CHECK(text(s.page(article, {{"format", format}}), "content") == by_a_new_one({{"format", format}}));
        CHECK(s.page(article, {{"selector", "ul > li"}}).at("matches") == 2);
        const auto page = s.page(
            "<meta name=x><meta property='og:title' content='Told'><h1>Head</h1><base>"
            "<base href='http://h/dir/'><a href=x>l</a>",
            {{"format", "links"}});
        CHECK(page.at("title") == "Told");
        CHECK(text(page, "content") == "- [l](http://h/dir/x)");
    }
}

TEST_CASE("charsets are read, unknown ones are named")
{
    web_stage s;
    CHECK(text(s.page("<title>\x83\x65\x83\x58\x83\x67</title><p>x", {}, "text/html; charset=Shift_JIS"), "title") ==
          "テスト");
    CHECK(text(s.page("<p>gr\xfcn \x80", {}, "text/html; charset=iso-8859-1"), "content") == "grün €");
    CHECK(text(s.page("<meta charset=windows-1251><p>\xcf\xf0\xe8\xe2\xe5\xf2", {}, "text/html"), "content") ==
          "Привет");
    const auto klingon = s.page("<p>gr\xc3\xbcn", {}, "text/html; charset=klingon");
    CHECK(klingon.at("success") == true);
    CHECK(text(klingon, "content") == "grün");
    CHECK(has(text(klingon, "hint"), "\"klingon\""));
    const auto raw = s.page(std::string("<p>a\0b größer \xff", 17));
    CHECK(text(raw, "content") ==
          "a\xef\xbf\xbd"
          "b größer \xef\xbf\xbd");
    CHECK(has(text(raw, "hint"), "1 byte is not valid in utf-8"));
    CHECK(has(text(raw, "hint"), "NUL"));
    const auto guessed = s.page("<p>\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0 \xe8 \xe2\xf1\xe5", {}, "text/html");
    CHECK(text(guessed, "content") == "Привет, мир и все");
    CHECK(has(text(guessed, "hint"), "windows-1251, which is a guess"));
}

TEST_CASE("a page leads on by itself, with the cookies of the way, and no further than redirects do")
{
    web_stage s;
    const auto leads = [](const std::string& to, const std::string& more = {}) {
        return send(answer("<meta http-equiv=refresh content='0; url=" + to + "'>on the way", "text/html", more));
    };
    s.web.on("/start", leads("/end", "Set-Cookie: way=1\r\n"));
    s.web.on("/end", send(answer("<p>arrived")));
    const auto page = s.scrape(s.web.url("/start"));
    CHECK(text(page, "content") == "arrived");
    CHECK(text(page, "url") == s.web.url("/end"));
    CHECK(has(s.web.requests.back(), "Cookie: way=1\r\n"));
    s.scrape(s.web.url("/end"));
    CHECK_FALSE(has(s.web.requests.back(), "Cookie"));
    s.web.on("/a", leads("/b"));
    s.web.on("/b", leads("/a"));
    const auto circle = s.scrape(s.web.url("/a"));
    CHECK(text(circle, "content") == "on the way");
    CHECK(has(text(circle, "hint"), "was not followed"));
    s.web.on("/self", leads("/self"));
    CHECK(text(s.scrape(s.web.url("/self")), "content") == "on the way");
    s.web.on("/inside", leads("http://10.0.0.1/"));
    CHECK(text(s.scrape(s.web.url("/inside")), "reason") == "refused");
}

TEST_CASE("a page that scripts build, and frames that are not here, name web_browse")
{
    web_stage s;
    const std::string app = "<title>Shop</title><div id=root></div><script src=/app.js></script>";
    CHECK(has(text(s.page(app), "hint"), "web_browse"));
    CHECK(has(text(s.page("<noscript>Turn on JavaScript.</noscript>" + app), "hint"), "web_browse"));
    CHECK_FALSE(s.page("<p>text</p><script>count()</script>").contains("hint"));
    CHECK_FALSE(s.page("<p>text").contains("hint"));
    CHECK(has(text(s.page("<title>Nothing</title>"), "hint"), "no text"));
    const auto framed = s.page("<p>around</p><iframe src=/inner></iframe><iframe src=/pixel width=1></iframe>");
    CHECK(has(text(framed, "hint"), "1 frame"));
    CHECK(has(text(framed, "hint"), s.web.url("/inner")));
    CHECK_FALSE(framed.contains("frames"));
}

TEST_CASE("timeout bounds one call, and is named where it ends it")
{
    web_stage s;
    s.web.on("/hang", {{step::kind::hang, {}, {}}});
    const auto page = s.scrape(s.web.url("/hang"), {{"timeout", 0.5}});
    CHECK(text(page, "reason") == "timeout");
    CHECK(has(text(page, "error"), "(timeout)"));
}

TEST_CASE("long content is cut where the caller wants it")
{
    web_stage s;
    std::string long_text;
    for (int i = 0; i < 200; ++i) long_text += "ä" + std::to_string(i) + " ";
    const auto cut = s.page("<p>" + long_text, {{"max_length", 10}});
    CHECK(text(cut, "content") == "ä0 ä1 ä2 ä");
    CHECK(cut.at("truncated") == true);
    CHECK(has(text(cut, "hint"), "max_length"));
    CHECK(s.page("<p>short").at("truncated") == false);
}

TEST_CASE("the steps of a call are log messages and no output")
{
    web_stage s;
    s.page(article);
    const auto all = s.progress.all_logs();
    for (const char* step : {"connecting to 127.0.0.1", "waiting for 127.0.0.1", "receiving", "parsing"})
        CHECK(has(all, step));
    CHECK(s.progress.messages.empty());
}

TEST_CASE("a page that takes too long to read is cut in that phase")
{
    settings brief = with_loopback();
    brief.web_timeout_default = std::chrono::milliseconds(700);
    brief.web_max_size = 16 << 20;
    web_stage s(brief);
    std::string broad;
    for (int i = 0; i < 29'000; ++i) broad += "<div><p>text <b>bold</b></p></div>";
    const auto page = s.page(broad, {{"selector", "div:has(p) div:has(b) ~ div:nth-last-child(2n+1)"}});
    INFO(json::serialize(page));
    CHECK(s.last.is_error);
    CHECK(has(text(page, "error"), "while parsing"));
    CHECK(s.web.requests.size() == 1);
}

TEST_CASE("two callers' pages are read side by side")
{
    web_stage s;
    s.web.on("/a", send(answer("<p>page a")));
    s.web.on("/b", send(answer("<p>page b")));
    CHECK(run_coroutine(s.io, both_pages(&s), std::chrono::seconds(60)) == "page apage b");
}
