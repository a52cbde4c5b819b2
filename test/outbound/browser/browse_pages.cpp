#include "test/outbound/browser/browser_support.hpp"

#include "config/settings.hpp"

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
    CHECK(has(wrong.error, "action 1 (type) on \"button\""));
    CHECK(has(wrong.error, "no field that takes text"));
    CHECK(has(wrong.content, "Go"));

    request.actions = {action(kind::press, "", "Nope")};
    CHECK(has(s.browse(request).error, "Enter"));
}

TEST_CASE("frames and open shadow roots are part of a page, for its text and for actions")
{
    if (!browser_is_installed()) return;
    browser_stage s;
    const std::string port = std::to_string(s.web.port());
    const std::string shadow =
        "<x-card>given</x-card><script>customElements.define('x-in', class extends HTMLElement { connectedCallback() {"
        "this.attachShadow({mode: 'open'}).innerHTML = '<p>deep</p><button id=deep "
        "onclick=\"this.textContent=`pushed`\">push</button>' } });"
        "customElements.define('x-card', class extends HTMLElement { connectedCallback() {"
        "this.attachShadow({mode: 'open'}).innerHTML = '<h2>Card</h2><slot></slot><x-in></x-in>' } });"
        "customElements.define('x-shut', class extends HTMLElement { connectedCallback() {"
        "this.attachShadow({mode: 'closed'}).innerHTML = '<p>unseen</p>' } })</script><x-shut></x-shut>";
    s.page("/",
           "<!doctype html><h1>Outer</h1><div style='height:1500px'></div><iframe src=/inner width=400 "
           "height=300></iframe><iframe srcdoc='<p>written <b>here</b></p>'></iframe><iframe src=/hidden "
           "hidden></iframe>" +
               shadow);
    s.page("/hidden", "<p>not shown</p>");
    s.page("/inner",
           "<p>inner</p><iframe src='http://localhost:" + port + "/innermost' width=300 height=200></iframe>");
    s.page("/innermost",
           "<div style='height:400px'>innermost</div><input id=field><button id=far "
           "onclick='this.textContent=field.value'>far</button>");
    auto request = s.to("/");
    request.format = "markdown";
    const auto page = s.browse(request);
    INFO(page.error << page.content);
    REQUIRE(page.success);
    for (const char* part :
         {"# Outer", "inner\n", "innermost", "written **here**", "## Card", "given", "deep", "push", "far"})
        CHECK(has(page.content, part));
    CHECK_FALSE(has(page.content, "not shown"));
    CHECK(has(page.notes, "<x-shut> seems to be in a closed shadow root"));

    request.actions = {action(kind::type, "#field", "typed far in"), action(kind::click, "#far"),
                       action(kind::click, "#deep"), action(kind::press, "#field", "End"),
                       action(kind::scroll, "#far")};
    request.wait_for = "#far";
    const auto acted = s.browse(request);
    INFO(acted.error << acted.content);
    CHECK(acted.success);
    CHECK(has(acted.content, "typed far in typed far in"));
    CHECK(has(acted.content, "pushed"));

    auto part = s.to("/");
    part.selector = "button";
    const auto buttons = s.browse(part);
    CHECK(buttons.matches == std::size_t{2});
    CHECK(buttons.content == "push\nfar");
    auto html = s.to("/");
    html.format = "html";
    const auto source = s.browse(html);
    CHECK(has(source.content, "<template shadowrootmode=\"open\"><p>deep</p>"));
    CHECK(has(source.content, "<!-- frame: http://localhost:" + port + "/innermost -->"));
}

TEST_CASE("a page that opens windows goes on, and the windows load nothing but through the guard")
{
    if (!browser_is_installed()) return;
    browser_stage s;
    s.page("/",
           "<title>Opener</title><p>first</p><button id=open onclick=\"const w = window.open('/popup'); "
           "window.open('/second', "
           "'_blank', 'noopener'); document.title = 'went on ' + (w !== null)\">open</button><button id=blank "
           "onclick=\"const w = window.open('about:blank'); w.document.write('<img src=http://" +
               s.canary.authority() +
               "/written>'); document.title = 'written'\">write</button><button id=print onclick=\"print(); "
               "document.title = 'printed'\">print</button>"
               "<a id=link target=_blank rel=noopener href=/linked>link</a><form target=_blank action=/sent><button "
               "id=send>send</button></form>");
    for (const auto& [selector, title] :
         {std::pair("#open", "went on true"), std::pair("#print", "printed"), std::pair("#link", "Opener"),
          std::pair("#send", "Opener"), std::pair("#blank", "written")}) {
        auto request = s.to("/");
        request.actions = {action(kind::click, selector)};
        const auto page = s.browse(request);
        INFO(selector << page.error);
        CHECK(page.success);
        CHECK(has(page.content, "first"));
        CHECK(page.title == title);
        if (std::string(selector) == "#open")
            CHECK(has(page.notes, "new window, which was refused: " + s.web.url("/popup")));
    }
    for (const auto& sent : s.web.requests)
        for (const char* path : {"GET /popup", "GET /second", "GET /linked", "GET /sent"}) CHECK_FALSE(has(sent, path));
    CHECK(s.canary.connections == 0);
}

TEST_CASE("a server that refuses the connection is told of at once, not after the first action's patience")
{
    if (!browser_is_installed()) return;
    settings config;
    asio::io_context io;
    asio::ip::tcp::socket silent(io);  // has a port, and does not listen
    silent.open(asio::ip::tcp::v4());
    silent.bind({asio::ip::address_v4::loopback(), 0});
    const std::string closed = "127.0.0.1:" + std::to_string(silent.local_endpoint().port());
    config.web_allowed_private.push_back(closed);
    browser_stage s(config);
    browse_request request;
    request.url = "http://" + closed + "/";
    request.actions = {action(kind::click, "#never")};
    const auto page = s.browse(request);
    INFO(page.error);
    CHECK_FALSE(page.success);
    CHECK(has(page.error, "refused"));
    CHECK_FALSE(has(page.error, "#never"));
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
