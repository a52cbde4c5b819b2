#include "config/settings.hpp"
#include "test/outbound/browser/browser_support.hpp"
#include "test/support/temporary_folder.hpp"
#include "web/web_browser.hpp"

#include <boost/asio/ip/udp.hpp>

#include <signal.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

using namespace cmcp;
using namespace cmcp::test;

TEST_CASE("nothing that a page tries reaches an address that is not opened")
{
    if (!browser_is_installed()) return;
    browser_stage s;
    origin& canary = s.canary;
    asio::ip::udp::socket datagrams(s.io, {asio::ip::address_v4::loopback(), canary.port()});
    const std::string there = canary.authority();
    s.web.on("/worker.js",
             send(answer("fetch('http://" + there +
                             "/worker', {mode: 'no-cors'}).finally(() => self.postMessage && postMessage(1))",
                         "text/javascript")));
    s.page("/",
           "<title>Tries</title><link rel=preconnect href='http://" + there + "'><link rel=dns-prefetch href='//" +
               there +
               "'>"
               "<link rel=prefetch href='http://" +
               there + "/prefetch'><img src='http://" + there +
               "/img'>"
               "<iframe src='http://" +
               there +
               "/iframe'></iframe><iframe src='file:///etc/passwd'></iframe><script>"
               "const at = '" +
               there +
               "'; fetch('http://' + at + '/fetch', {mode: 'no-cors'}).catch(() => {});"
               "fetch('http://localhost:' + at.split(':')[1] + '/name', {mode: 'no-cors'}).catch(() => {});"
               "fetch('http://[::ffff:127.0.0.1]:' + at.split(':')[1] + '/six', {mode: 'no-cors'}).catch(() => {});"
               "navigator.sendBeacon('http://' + at + '/beacon', 'x'); new WebSocket('ws://' + at + '/ws'); new "
               "EventSource('http://' + at + '/es');"
               "new Worker('/worker.js'); navigator.serviceWorker?.register('/worker.js').catch(() => {});"
               "try { const p = new RTCPeerConnection({iceServers: [{urls: ['stun:' + at, 'turn:' + at + "
               "'?transport=tcp'], username: 'a', credential: 'b'}]});"
               "p.createDataChannel('x'); p.createOffer().then(o => p.setLocalDescription(o)) } catch {}"
               "open('http://' + at + '/popup'); setTimeout(() => document.body.append('done'), 1500)</script><body>");
    auto request = s.to("/");
    request.actions.emplace_back();
    request.actions[0].time = std::chrono::milliseconds(2000);
    const auto result = s.browse(request);
    INFO(result.error << result.content);
    CHECK(result.success);
    CHECK(has(result.content, "done"));
    CHECK(has(result.notes, "WEB_ALLOWED_PRIVATE"));
    CHECK(has(result.notes, "new window"));
    CHECK(canary.connections == 0);
    CHECK(datagrams.available() == 0);

    s.page("/away", "<script>location = 'http://" + there + "/away'</script>");
    const auto away = s.browse("/away");
    CHECK_FALSE(away.success);
    CHECK(has(away.error, "loopback"));
    s.web.on("/redirect", send("HTTP/1.1 302 Found\r\nLocation: http://" + there + "/\r\nContent-Length: 0\r\n\r\n"));
    CHECK(has(s.browse("/redirect").error, "loopback"));
    CHECK(canary.connections == 0);

    const auto absent = s.browse("/absent");
    CHECK_FALSE(absent.success);
    CHECK(absent.status == 404);
    CHECK(has(absent.error, "404"));
}

TEST_CASE("addresses that the browser must not open are refused before it sees them")
{
    browser_stage s;
    for (const char* url :
         {"file:///etc/passwd", "chrome://version", "javascript:1", "data:text/html,x", "view-source:http://a/",
          "http://u:p@example.com/", "http://127.0.0.1:1/", "http://2130706433:8080/", "http://[::1]/", "no url", ""}) {
        browse_request request;
        request.url = url;
        const auto result = s.browse(request);
        INFO(url << ": " << result.error);
        CHECK_FALSE(result.success);
        CHECK_FALSE(result.error.empty());
    }
    CHECK_FALSE(s.browser.state().running);
    CHECK(s.web.connections == 0);
}

TEST_CASE("what a server does wrong is named, for a page and for what it loads")
{
    if (!browser_is_installed()) return;
    browser_stage s;
    const step close{step::kind::close, {}, {}};
    s.web.on("/nothing", {close});
    s.web.on("/header", {{step::kind::send, "HTTP/1.1 200 OK\r\nX-Header: ", {}},
                         {step::kind::endless, std::string(1000, 'x'), {}}});
    CHECK(has(s.browse("/nothing").error, "closed the connection without an answer"));
    CHECK(has(s.browse("/header").error, "sent a header of more than 64 KiB"));
    s.page("/", "<title>Image</title><img src=/nothing>text");
    const auto result = s.browse("/");
    INFO(result.error);
    CHECK(result.content == "text");
    CHECK(has(result.notes, "A request of the page failed: 127.0.0.1 closed the connection without an answer"));
    s.page("/empty", "<title>Nothing</title>");
    CHECK(has(s.browse("/empty").notes, "shows no text"));
}

TEST_CASE("dialogs are dismissed, windows and downloads refused, and the caller is told")
{
    if (!browser_is_installed()) return;
    browser_stage s;
    s.page("/",
           "<title>Dialogs</title><a id=l target=_blank href=/other>x</a><script>alert('one');"
           "document.title = [confirm('two'), prompt('three')]</script>");
    auto visit = s.to("/");
    visit.actions = {action(page_action::kind::click, "#l")};
    const auto result = s.browse(visit);
    INFO(result.error);
    CHECK(result.success);
    CHECK(result.title == "false,");
    CHECK(has(result.notes, "dialog (alert), which was dismissed: \"one\""));
    CHECK(has(result.notes, "dialog (prompt)"));
    CHECK(result.url == s.web.url("/"));
    CHECK(has(result.notes, "new window"));
    s.page("/popups", "<title>Popups</title><script>for (let i = 0; i < 200; i++) open('/other?' + i)</script>many");
    const auto popups = s.browse("/popups");
    INFO(popups.error);
    CHECK(popups.content == "many");
    for (const auto& request : s.web.requests) CHECK_FALSE(has(request, "GET /other"));
    s.web.on("/file",
             send(answer("bytes", "application/octet-stream", "Content-Disposition: attachment; filename=a.bin\r\n")));
    const auto file = s.browse("/file");
    CHECK_FALSE(file.success);
    INFO(file.error);
    CHECK(has(file.error, "downloads are refused"));
}

TEST_CASE("a page that never settles is cut at the timeout with what is there")
{
    if (!browser_is_installed()) return;
    browser_stage s;
    s.browse("/");  // warm: the timeouts below are for pages
    s.page("/spin", "<title>Spin</title>before<script>while (true);</script>");
    s.web.on("/drip",
             {{step::kind::send, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Drip</title>begun <p>", {}},
              {step::kind::hang, {}, {}}});
    s.web.on("/hang", {{step::kind::hang, {}, {}}});
    for (const char* path : {"/spin", "/drip", "/hang"}) {
        auto request = s.to(path);
        request.timeout = 6;
        const auto result = s.browse(request);
        INFO(path << ": " << result.error);
        CHECK(result.timed_out);
        const bool silent = std::string(path) == "/hang";
        CHECK(result.success == !silent);
        CHECK(has(silent ? result.error : result.content, silent ? "while connecting to" : "be"));
        CHECK(result.duration < std::chrono::seconds(20));
    }
    auto request = s.to("/wait");
    s.page("/wait", "shown");
    request.wait_for = "#never";
    request.timeout = 10;
    const auto never = s.browse(request);
    CHECK_FALSE(never.success);
    CHECK(has(never.error, "#never"));
    CHECK(never.content == "shown");
    request.wait_for = "p[";
    CHECK(has(s.browse(request).error, "not a valid CSS selector"));
}

TEST_CASE("a browser below /tmp is refused with a place where it can be")
{
    settings config;
    config.web_browser_path = "/tmp/chrome/chrome";
    CHECK(has(browser_obstacle(config), "move the browser"));
}

TEST_CASE("a browser that was taken over ends with the message that the server refuses")
{
    // Not where the sources are: they may be below /tmp, which the browser's sandbox does not show.
    const char* home = std::getenv("HOME");
    REQUIRE(home != nullptr);
    const temporary_folder folder(home);
    std::filesystem::permissions(folder.path, std::filesystem::perms(0755));
    const auto program = folder.path / "captured_browser.py";
    std::filesystem::copy_file(CMCP_SOURCE_DIR "/test/outbound/browser/captured_browser.py", program);
    settings config;
    config.web_browser_path = program.string();
    browser_stage s(config);
    const auto result = s.browse("/");
    CHECK_FALSE(result.success);
    CHECK(has(result.error, "the browser sent a message that is nested too deeply"));
    const auto captured = s.browser.state();
    CHECK_FALSE(captured.running);
    CHECK(eventually(s.io, [&] { return ::kill(captured.pid, 0) == -1 && errno == ESRCH; }));
}
