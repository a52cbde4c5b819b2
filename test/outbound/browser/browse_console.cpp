#include "config/settings.hpp"
#include "test/outbound/browser/browser_support.hpp"

#include <algorithm>

using namespace cmcp;
using namespace cmcp::test;
using event_kind = page_event::kind;

namespace {

const page_event* event_with(const browse_result& page, event_kind what, const std::string& part)
{
    const auto has_part = [&](const page_event& each) {
        return each.what == what && (has(each.text, part) || has(each.at, part));
    };
    const auto event = std::find_if(page.log.begin(), page.log.end(), has_part);
    return event == page.log.end() ? nullptr : &*event;
}

std::string shown(const browse_result& page)
{
    std::string all = page.error + "\n";
    for (const auto& each : page.log)
        all += each.level + " " + each.text + " " + each.at + " " + std::to_string(each.status) + "\n";
    for (const auto& each : page.notes) all += each + "\n";
    return all;
}

}  // namespace

TEST_CASE("web_browse tells of console messages, uncaught errors and failed requests, of frames and workers, too")
{
    if (!browser_is_installed()) return;
    browser_stage s;
    s.web.on("/worker.js",
             send(answer("console.warn('worker speaks'); postMessage(1); missingInWorker()", "text/javascript")));
    s.web.on(
        "/app.js",
        send(answer(
            "console.error('boom', {code: 7, list: [1, 2]});\nfunction start() {\n  undefinedFunction();\n}\nstart();",
            "text/javascript")));
    s.web.on("/refused", send(answer("no", "text/plain", {}, "500 Internal Server Error")));
    s.page("/frame", "<script>console.info('in the frame'); throw new Error('frame fails')</script>");
    s.page("/",
           "<!doctype html><title>Faulty</title><img src=/missing.png><iframe src=/frame></iframe><script "
           "src=/app.js></script>"
           "<script>console.log('%cstyled %s', 'color: red', 'text'); Promise.reject(new Error('nobody waits'));"
           "fetch('/refused').then(() => fetch('http://" +
               s.canary.authority() +
               "/away')).catch(() => {});"
               "new Worker('/worker.js').onmessage = () => document.body.append('worker is done')</script>");
    auto request = s.to("/");
    request.actions.emplace_back();
    request.actions[0].time = std::chrono::milliseconds(500);
    const auto page = s.browse(request);
    INFO(shown(page));
    REQUIRE(page.success);
    for (const char* part : {"boom {code: 7, list: Array(2)}", "in the frame", "styled text", "worker speaks"})
        CHECK(event_with(page, event_kind::console, part) != nullptr);
    const auto* error = event_with(page, event_kind::uncaught_error, "undefinedFunction is not defined");
    REQUIRE(error != nullptr);
    CHECK(error->at == s.web.url("/app.js:3:3"));
    CHECK(event_with(page, event_kind::uncaught_error, "frame fails") != nullptr);
    CHECK(event_with(page, event_kind::uncaught_error, "(in promise) Error: nobody waits") != nullptr);
    const auto* missing = event_with(page, event_kind::failed_request, "/missing.png");
    REQUIRE(missing != nullptr);
    CHECK(missing->status == 404);
    const auto* refused = event_with(page, event_kind::failed_request, "/refused");
    REQUIRE(refused != nullptr);
    CHECK(refused->status == 500);
    const auto* away = event_with(page, event_kind::failed_request, "/away");
    REQUIRE(away != nullptr);
    CHECK(away->status == 0);  // the guard's answer is none of a server
    CHECK(has(away->text, "WEB_ALLOWED_PRIVATE"));
    CHECK(has(page.notes, "Uncaught error: ReferenceError: undefinedFunction is not defined (/app.js:3:3)"));
    CHECK(has(page.notes, "Failed request: /missing.png: 404"));
    CHECK(has(page.notes, "console.error: boom"));
}

TEST_CASE("a quiet page has no log, and the address itself is no failed request of it")
{
    if (!browser_is_installed()) return;
    browser_stage s;
    s.page("/", "<!doctype html><title>Quiet</title><p>still</p><script>document.body.append('done')</script>");
    const auto quiet = s.browse("/");
    INFO(shown(quiet));
    CHECK(quiet.success);
    CHECK(quiet.log.empty());
    CHECK(quiet.notes.empty());
    const auto absent = s.browse("/absent");
    INFO(shown(absent));
    CHECK(absent.status == 404);
    CHECK(absent.log.empty());
    CHECK(absent.notes.empty());
}

TEST_CASE("a page that floods its console, or writes at any length, is shown all the same, and so is the next one")
{
    if (!browser_is_installed()) return;
    browser_stage s;
    s.page("/flood",
           "<!doctype html><title>Flood</title><p>shown</p><script>for (let i = 0; i < 20000; i++) console.log(i, {i, "
           "text: 'x'.repeat(50)});"
           "document.body.append('done')</script>");
    s.page("/long",
           "<!doctype html><title>Long</title><p>shown</p><script>console.log('x'.repeat(60 << 20)); "
           "console.log(...Array(60000).fill({a: 1}));"
           "console.error('behind'); document.body.append('done')</script>");
    s.page("/", "<!doctype html><title>Next</title><script>console.log('one')</script>ready");
    for (const char* path : {"/flood", "/long"}) {
        const auto page = s.browse(path);
        INFO(path << shown(page));
        CHECK(page.success);
        CHECK(has(page.content, "done"));
        CHECK(has(page.notes, " more message"));
        CHECK(page.log.size() <= 100);
        if (std::string(path) == "/long") CHECK(event_with(page, event_kind::console, "behind") != nullptr);
    }
    const auto next = s.browse("/");
    INFO(shown(next));
    CHECK(next.content == "ready");
    REQUIRE(next.log.size() == 1);
    CHECK(next.log[0].text == "one");
    CHECK(next.notes == std::vector<std::string>{"console.log: one (/:1:51)"});
}
