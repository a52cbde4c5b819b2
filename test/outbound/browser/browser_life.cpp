#include "test/outbound/browser/browser_support.hpp"

#include "config/settings.hpp"

#include <boost/asio/steady_timer.hpp>

#include <signal.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

using namespace cmcp;
using namespace cmcp::test;

namespace {

std::string text_of(const std::string& path)
{
    // A process may go while it is read: that is an error of the stream, and no exception.
    const std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

void add_descendants(int pid, std::set<int>& family)
{
    std::istringstream children(text_of("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children"));
    for (int child; children >> child;)
        if (family.insert(child).second) add_descendants(child, family);
}

std::set<int> descendants(int pid)
{
    std::set<int> family{pid};
    add_descendants(pid, family);
    return family;
}

// A process that has ended and only waits to be collected does not live.
bool lives(int pid)
{
    const std::string status = text_of("/proc/" + std::to_string(pid) + "/stat");
    const auto end = status.rfind(')');
    return end != std::string::npos && end + 2 < status.size() && status[end + 2] != 'Z';
}

bool any_lives(const std::set<int>& all) { return std::any_of(all.begin(), all.end(), lives); }

int renderer_among(const std::set<int>& all)
{
    for (const int pid : all)
        if (has(text_of("/proc/" + std::to_string(pid) + "/cmdline"), "--type=renderer")) return pid;
    return -1;
}

std::string user_of_browser(int first)
{
    const std::string status = text_of("/proc/" + std::to_string(first) + "/status");
    const auto at = status.find("Uid:");
    return status.substr(at, status.find('\n', at) - at);
}

}  // namespace

TEST_CASE("the browser stays warm, runs as nobody of the server's, and nothing of it is left when it stops")
{
    if (!browser_is_installed()) return;
    browser_stage s;
    CHECK_FALSE(s.browser.state().running);
    s.page("/", "warm");
    CHECK(s.browse("/").content == "warm");
    const auto first = s.browser.state();
    CHECK(s.browse("/").content == "warm");
    CHECK(s.browser.state().pid == first.pid);
    const auto family = descendants(first.pid);
    CHECK(family.size() > 4);
    CHECK(first.own_sandbox);
    for (const int pid : family) {
        CHECK_FALSE(has(text_of("/proc/" + std::to_string(pid) + "/cmdline"), "--no-sandbox"));
        const auto status = text_of("/proc/" + std::to_string(pid) + "/status");
        if (::geteuid() == 0) CHECK_FALSE(has(status, "Uid:\t0\t"));
    }
    run_coroutine(s.io, s.browser.stop(), patience);
    CHECK(eventually(s.io, [&] { return !any_lives(family); }));
    CHECK(s.browse("/").content == "warm");
}

TEST_CASE("a browser that was killed is started again with the next page, a page that crashes ends its call at once")
{
    if (!browser_is_installed()) return;
    browser_stage s;
    s.page("/", "fine");
    CHECK(s.browse("/").success);
    REQUIRE(s.browser.state().pid > 0);
    ::kill(s.browser.state().pid, SIGKILL);
    CHECK(eventually(s.io, [&] { return !s.browser.state().running; }));
    CHECK(s.browse("/").content == "fine");

    auto request = s.to("/");
    request.wait_for = "#never";
    std::optional<browse_result> crashed;
    task_group tasks(s.io.get_executor());
    const auto one = [](browser_stage* stage, browse_request what, std::optional<browse_result>* into) -> awaitable<> {
        auto result = co_await stage->start(std::move(what));
        *into = std::move(result);
    };
    const auto requests = s.web.requests.size();
    tasks.spawn("browse", one(&s, request, &crashed));
    CHECK(eventually(s.io, [&] {
        return s.web.requests.size() > requests && has(s.progress.all_logs(), "waiting for \"#never\"");
    }));
    const auto family = descendants(s.browser.state().pid);
    for (int pid = renderer_among(family); pid > 0 && lives(pid);
         pid = renderer_among(descendants(s.browser.state().pid)))
        ::kill(pid, SIGKILL);
    CHECK(eventually(s.io, [&] { return crashed.has_value(); }));
    REQUIRE(crashed);
    CHECK(has(crashed->error, "crashed"));
    const auto next = s.browse("/");
    INFO(next.error);
    CHECK(next.content == "fine");
}

TEST_CASE("a browser ends with its launcher, and the next page starts both again")
{
    if (!browser_is_installed()) return;
    browser_stage s;
    s.page("/", "fine");
    CHECK(s.browse("/").content == "fine");
    const auto family = descendants(s.browser.state().pid);
    ::kill(s.backend.launcher_pid(), SIGKILL);
    CHECK(eventually(s.io, [&] { return !s.browser.state().running && !any_lives(family); }));
    CHECK(s.browse("/").content == "fine");
}

TEST_CASE("an idle browser ends by itself")
{
    if (!browser_is_installed()) return;
    settings config;
    config.web_browser_idle_timeout = std::chrono::milliseconds(0);
    browser_stage s(config);
    s.page("/", "once");
    CHECK(s.browse("/").content == "once");
    CHECK(eventually(s.io, [&] { return !s.browser.state().running; }));
    CHECK(s.browse("/").content == "once");
}

TEST_CASE("a page that takes too much memory is ended, others go on")
{
    if (!browser_is_installed()) return;
    settings config;
    config.web_browser_memory_limit = 512ull << 20;
    browser_stage s(config);
    s.page("/", "small");
    s.page("/big",
           "<script>const all = []; const more = () => { for (let i = 0; i < 16; i++) all.push(new Uint8Array(1 << "
           "20).fill(i + 1));"
           "setTimeout(more) }; more()</script>");
    CHECK(s.browse("/").content == "small");
    auto request = s.to("/big");
    request.wait_for = "#never";  // a busy machine fills memory slowly
    const auto big = s.browse(request);
    INFO(big.error);
    CHECK_FALSE(big.success);
    CHECK(has(big.error, "memory"));
    CHECK(s.browse("/").content == "small");
}

TEST_CASE("without Chromium the error names the package")
{
    settings config;
    config.web_browser_path = "/nowhere/chromium";
    browser_stage s(config);
    const auto result = s.browse("/");
    CHECK_FALSE(result.success);
    CHECK(has(result.error, "package chromium"));
    CHECK(s.web.connections == 0);
}

TEST_CASE("each principal has a browser of its own, and the end of one is not that of another")
{
    if (!browser_is_installed()) return;
    browser_stage s;
    s.page("/", "mine");
    CHECK(s.browse_as("ann", "/").content == "mine");
    const int of_ann = s.browser.state().pid;
    CHECK(s.browse_as("bob", "/").content == "mine");
    const int of_bob = s.browser.state().pid;
    CHECK(of_ann != of_bob);
    CHECK(s.browse_as("ann", "/").content == "mine");
    CHECK(s.browser.state().pid == of_ann);
    CHECK(s.browser.states().size() == 2);
    if (::geteuid() == 0) CHECK(user_of_browser(of_ann) != user_of_browser(of_bob));
    ::kill(of_ann, SIGKILL);
    CHECK(s.browse_as("bob", "/").content == "mine");
    CHECK(s.browser.state().pid == of_bob);
    CHECK(s.browse_as("ann", "/").content == "mine");
}

TEST_CASE("the browser that is idle longest ends for another principal's")
{
    if (!browser_is_installed()) return;
    browser_stage s;
    s.page("/", "mine");
    CHECK(s.browse_as("ann", "/").success);
    const auto of_ann = descendants(s.browser.state().pid);
    CHECK(s.browse_as("bob", "/").success);
    const int of_bob = s.browser.state().pid;
    CHECK(s.browse_as("cid", "/").success);
    CHECK(s.browser.states().size() == 2);
    CHECK(eventually(s.io, [&] { return !any_lives(of_ann); }));
    CHECK(lives(of_bob));
    CHECK(s.browse_as("ann", "/").success);
    CHECK(eventually(s.io, [&] { return !lives(of_bob); }));
}

TEST_CASE("a principal waits for a browser while those of others are all in use")
{
    if (!browser_is_installed()) return;
    settings config;
    config.web_browser_max_browsers = 1;
    browser_stage s(config);
    s.page("/", "mine");
    auto long_visit = s.to("/");
    long_visit.wait_for = "#never";
    long_visit.timeout = 10;
    std::optional<browse_result> first, second;
    const auto one = [](browser_stage* stage, browse_request what, std::string who,
                        std::optional<browse_result>* into) -> awaitable<> {
        auto result = co_await stage->start(std::move(what), std::move(who));
        *into = std::move(result);
    };
    task_group tasks(s.io.get_executor());
    tasks.spawn("ann", one(&s, long_visit, "ann", &first));
    CHECK(eventually(s.io, [&] { return has(s.progress.all_logs(), "waiting for \"#never\""); }));
    const int of_ann = s.browser.state().pid;
    tasks.spawn("bob", one(&s, s.to("/"), "bob", &second));
    CHECK(eventually(s.io, [&] { return second.has_value(); }));
    REQUIRE(first);
    CHECK(first->timed_out);
    CHECK(second->content == "mine");
    CHECK(s.browser.states().size() == 1);
    CHECK(s.browser.state().pid != of_ann);
}

TEST_CASE("a browser that was started with the server is the first principal's")
{
    if (!browser_is_installed()) return;
    browser_stage s;
    run_coroutine(s.io, s.browser.warm_up(), patience);
    const int warm = s.browser.state().pid;
    s.page("/", "mine");
    CHECK(s.browse_as("ann", "/").content == "mine");
    CHECK(s.browser.state().pid == warm);
    CHECK(s.browse_as("bob", "/").content == "mine");
    CHECK(s.browser.state().pid != warm);
}
