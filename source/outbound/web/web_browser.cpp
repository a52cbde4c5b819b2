#include "web/web_browser.hpp"

#include "config/settings.hpp"
#include "egress/egress_connector.hpp"
#include "runs/progress_sender.hpp"
#include "runs/runner.hpp"
#include "web/browser_process.hpp"
#include "web/code_network.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace cmcp {

namespace {

namespace fs = std::filesystem;

// The programs and not the scripts in /usr/bin, which add switches and look for files of the user.
constexpr const char* programs[] = {"/usr/lib/chromium/chromium", "/usr/lib/chromium-browser/chromium-browser",
                                    "/usr/lib64/chromium-browser/chromium-browser", "/opt/google/chrome/chrome",
                                    "/opt/chromium/chrome"};

bool executable(const fs::path& path)
{
    std::error_code ignored;
    return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

std::string file_text(const fs::path& file)
{
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

constexpr std::size_t most_waiting = 64;
constexpr std::uint64_t most_bytes = 128ull << 20;

browse_result failed_visit(const std::string& url, std::string sentence)
{
    browse_result result;
    result.url = url;
    result.error = std::move(sentence);
    return result;
}

admission_limits page_limits()
{
    const std::size_t pages = browser_options().pages;
    return {
        .at_once = pages, .per_caller = std::max<std::size_t>(1, pages - 1), .waiting = most_waiting, .what = "page"};
}

browser_options browser_options_from(const settings& config, sandbox::backend& backend, egress_guard& guard,
                                     blocking_pool& pool)
{
    browser_options options;
    options.backend = &backend;
    options.guard = &guard;
    options.program = find_browser_program(config);
    if (!config.web_ca_file.empty()) options.certificates = file_text(config.web_ca_file);
    options.idle = config.web_browser_idle_timeout;
    options.pool = &pool;
    return options;
}

}  // namespace

std::string find_browser_program(const settings& config)
{
    const std::string& named = config.web_browser_path;
    if (!named.empty()) return executable(named) ? named : std::string();
    for (const char* each : programs)
        if (executable(each)) return each;
    return {};
}

sandbox::browser_program browser_for_launcher(const settings& config)
{
    if (!config.enable_web) return {};
    const auto& required = config.sandbox_require;
    const bool named = std::find(required.begin(), required.end(), browser_layer) != required.end();
    return {find_browser_program(config), config.web_browser_memory_limit, !named};
}

std::string browser_obstacle(const settings& config)
{
    for (const char* own : {"/tmp/", "/dev/shm/"})
        if (config.web_browser_path.starts_with(own))
            return "WEB_BROWSER_PATH=" + config.web_browser_path + " is below " + own +
                   ", of which each sandbox has its own: move the browser, for example to /opt, and restart the "
                   "server.";
    if (find_browser_program(config).empty()) {
        if (!config.web_browser_path.empty())
            return "WEB_BROWSER_PATH=" + config.web_browser_path +
                   " is not an executable file: correct it, or leave it empty and install "
                   "the package chromium; then restart the server.";
        return "web_browse needs Chromium, which is not installed here: install the package chromium (apt-get install "
               "chromium) or set "
               "WEB_BROWSER_PATH, and restart the server. Until then web_scrape reads pages that need no JavaScript.";
    }
    return {};
}

web_browser::web_browser(asio::any_io_executor executor, const settings& config, sandbox::backend& backend,
                         egress_guard& guard, web_page_reader& reader, blocking_pool& pool)
    : guard_(guard),
      reader_(reader),
      policy_(egress_policy::from_settings(config)),
      obstacle_(browser_obstacle(config)),
      most_content_(config.web_browser_max_content),
      timeout_default_(config.web_timeout_default),
      timeout_max_(std::max(config.web_browser_timeout_max, config.web_timeout_default)),
      admission_(page_limits()),
      browsers_(executor, browser_options_from(config, backend, guard, pool), config.web_browser_max_browsers)
{
}

browser_state web_browser::state() const
{
    const auto all = browsers_.states();
    return all.empty() ? browser_state() : all.front();
}

awaitable<> web_browser::warm_up()
{
    if (!obstacle_.empty()) throw browser_unavailable(obstacle_);
    co_await browsers_.warm_up();
}

awaitable<> web_browser::stop() { co_await browsers_.stop(); }

web_browser::machine web_browser::machine_of(const caller& who, const std::string& url) const
{
    try {
        const auto where = web_url::parse(url);
        if (!is_this_machine(where.who)) return machine::none;
        const auto address = where.who.address.value_or(asio::ip::address_v4::loopback());
        const bool is_open = !has_network_of_sandbox(who) && policy_.judge(where.who, where.port).allowed &&
                             policy_.judge(where.who, address, where.port).allowed;
        return is_open ? machine::open : machine::closed;
    } catch (const bad_url&) {
        return machine::none;
    }
}

std::string web_browser::refusal(const caller& who, const browse_request& request, web_url& where) const
{
    try {
        where = web_url::parse(request.url);
    } catch (const bad_url& problem) {
        return problem.what();
    }
    if (!obstacle_.empty()) return obstacle_;
    if (!request.inside && has_network_of_sandbox(who)) return {};  // the user may be asked, once the browser is ready
    if (!request.inside) return policy_.judge(where.who, where.port).sentence;
    if (is_this_machine(where.who) && !where.secure) return {};
    return "With sandbox_id, url is http://localhost:<port>/…: the port is one on which a program of the sandbox "
           "listens.";
}

awaitable<browse_result> web_browser::browse(caller who, request_io& io, browse_request request)
{
    web_url where;
    std::string refused = refusal(who, request, where);
    if (!refused.empty()) co_return failed_visit(request.url, std::move(refused));
    std::string key = admission_key(who), principal = who.principal;
    page_renderer render = [this, key](std::string page, page_wish wish, std::chrono::milliseconds left) {
        return reader_.read(key, std::move(page), std::move(wish), left);
    };
    auto slot = co_await admission_.enter(std::move(key), &io);
    if (!slot)
        co_return failed_visit(request.url,
                               "The browser is busy: too many pages wait for their turn. Try again in a few seconds.");
    const auto its = co_await browsers_.enter(std::move(principal));
    const visit_limits limits{most_content_, chosen_timeout(request.timeout, timeout_default_, timeout_max_),
                              timeout_max_};
    progress_sender progress(io);
    auto ticket = guard_.issue("web_browse", egress_limits{.bytes = most_bytes});
    ticket->belong_to(who.principal, io.request());
    if (request.inside)
        ticket->lead_into(std::move(request.inside));
    else
        keep_to_network_of(who, *ticket);
    page_visit visit(*its, progress, std::move(ticket), std::move(request), std::move(where), limits,
                     std::move(render));
    auto work = visit.run();
    auto result = co_await with_progress(progress, std::move(work));
    co_return result;
}

}  // namespace cmcp
