#include "test/browser/browser_support.hpp"

using namespace cmcp;
using namespace cmcp::test;
using kind = page_action::kind;

TEST_CASE("web_browse returns what scripts made, in three formats, with progress")
{
    if (!browser_is_installed()) return;
    browser_stage s;
    s.web.on("/data", send(answer("<b>made</b> by a script", "text/plain")));
    s.page("/",
           "<!doctype html><title>A &amp; B</title><h1>Head</h1><div id=a></div><p style='display:none'>hidden</p>"
           "<ul><li>one<li><a href=/x>two</a></ul><form name=body><input name=documentElement></form>"
           "<script>fetch('/data').then(r => r.text()).then(t => a.innerHTML = t)</script>");
    const auto text = s.browse("/");
    INFO(text.error);
    REQUIRE(text.success);
    CHECK(text.title == "A & B");
    CHECK(text.url == s.web.url("/"));
    CHECK(text.status == 200);
    CHECK(has(text.content, "Head\n"));
    CHECK(has(text.content, "made by a script"));
    CHECK_FALSE(has(text.content, "hidden"));
    CHECK(has(s.progress.all_logs(), "waiting for the page to load"));

    auto as_html = s.to("/");
    as_html.format = "html";
    const auto html = s.browse(as_html);
    CHECK(html.content.starts_with("<!DOCTYPE html>\n<html>"));
    CHECK(has(html.content, "<div id=\"a\"><b>made</b> by a script</div>"));

    auto as_markdown = s.to("/");
    as_markdown.format = "markdown";
    const auto markdown = s.browse(as_markdown);
    CHECK(markdown.content == "# Head\n\n**made** by a script\n\n- one\n- [two](" + s.web.url("/x") + ")");

    auto part = s.to("/");
    part.selector = "li";
    const auto items = s.browse(part);
    CHECK(items.content == "one\ntwo");
    CHECK(items.matches == std::size_t{2});
    part.selector = "video";
    const auto none = s.browse(part);
    CHECK(none.success);
    CHECK(none.content.empty());
    CHECK(has(none.notes, "No element matches"));
}

TEST_CASE("web_browse fills a form, follows where it leads and waits for what comes late")
{
    if (!browser_is_installed()) return;
    browser_stage s;
    s.page("/",
           "<meta charset=utf-8><title>Form</title><form action=/got><input id=q name=q value=old><input type=checkbox "
           "name=c value=yes>"
           "<select name=s><option>one<option value=2>two</select><button>Go</button></form>");
    s.page("/got",
           "<title>Got</title><script>setTimeout(() => document.body.append(location.search), 300)</script><body>");
    auto request = s.to("/");
    request.actions = {action(kind::type, "#q", "ä b"), action(kind::click, "[type=checkbox]"),
                       action(kind::type, "select", "two"), action(kind::click, "button"), action(kind::wait, "body")};
    auto wait = action(kind::wait, "");
    wait.time = std::chrono::milliseconds(400);
    request.actions.push_back(wait);
    const auto sent = s.browse(request);
    INFO(sent.error);
    CHECK(sent.success);
    CHECK(sent.title == "Got");
    CHECK(sent.content == "?q=%C3%A4+b&c=yes&s=2");

    request.actions = {action(kind::type, "#q", "x"), action(kind::press, "#q", "Enter")};
    const auto by_key = s.browse(request);
    CHECK(by_key.url == s.web.url("/got?q=x&s=one"));

    request.actions = {action(kind::type, "button", "x")};
    const auto wrong = s.browse(request);
    CHECK_FALSE(wrong.success);
    CHECK(has(wrong.error, "action 1 (type)"));
    CHECK(has(wrong.error, "no field that takes text"));
    CHECK(has(wrong.content, "Go"));

    request.actions = {action(kind::press, "", "Nope")};
    CHECK(has(s.browse(request).error, "Enter"));
}

TEST_CASE("each call of web_browse begins with a browser that knows nothing, also beside others")
{
    if (!browser_is_installed()) return;
    browser_stage s;
    s.page("/",
           "<title>Storage</title><script>document.write(document.cookie + '|' + localStorage.getItem('k'));"
           "document.cookie = 'c=' + location.search; localStorage.setItem('k', location.search)</script>");
    task_group tasks(s.io.get_executor());
    std::vector<browse_result> results;
    const auto one = [](browser_stage* stage, std::string path, std::vector<browse_result>* into) -> awaitable<> {
        auto result = co_await stage->start(stage->to(path));
        into->push_back(std::move(result));
    };
    for (const char* path : {"/?1", "/?2", "/?3", "/?4", "/?5"}) tasks.spawn("browse", one(&s, path, &results));
    run_coroutine(s.io, tasks.wait_idle(patience), patience);
    results.push_back(s.browse("/?6"));
    REQUIRE(results.size() == 6);
    for (const auto& each : results) {
        INFO(each.error);
        CHECK(each.content == "|null");
    }
}

TEST_CASE("TLS of a page is verified, and WEB_CA_FILE adds an authority")
{
    if (!browser_is_installed()) return;
    const test_ca authority;
    auto context = authority.server_context();
    temporary_folder folder;
    std::ofstream(folder.path / "ca.pem") << authority.authority_pem;
    for (const bool trusted : {false, true}) {
        settings config;
        if (trusted) config.web_ca_file = folder.path / "ca.pem";
        browser_stage s(config, &context);
        s.page("/", "<title>Secure</title>it is");
        const auto result = s.browse("/");
        INFO(result.error);
        CHECK(result.success == trusted);
        CHECK(has(trusted ? result.content : result.error,
                  trusted ? "it is" : "not signed by an authority that is trusted"));
    }
}
