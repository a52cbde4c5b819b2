#include "web/web_browser.hpp"

#include "runs/progress_sender.hpp"
#include "runs/runner.hpp"
#include "web/browser_process.hpp"
#include "web/web_browser_setup.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t most_waiting = 64;
constexpr std::uint64_t most_bytes = 128ull << 20;

browse_result failed_visit(const std::string& url, std::string sentence)
{
    browse_result result;
    result.url = url;
    result.error = std::move(sentence);
    return result;
}

admission_limits page_limits(const settings& config)
{
    admission_limits limits;
    limits.at_once = config.web_browser_max_pages;
    limits.per_caller = std::max<std::size_t>(1, limits.at_once - 1);
    limits.waiting = most_waiting;
    limits.what = "page";
    return limits;
}

egress_limits traffic_limits()
{
    egress_limits limits;
    limits.bytes = most_bytes;
    return limits;
}

}  // namespace

web_browser::web_browser(asio::any_io_executor executor, const settings& config, egress_guard& guard)
    : guard_(guard),
      policy_(egress_policy::from_settings(config)),
      obstacle_(browser_obstacle(config)),
      most_content_(config.web_browser_max_content),
      timeout_default_(config.web_timeout_default),
      timeout_max_(std::max(config.web_browser_timeout_max, config.web_timeout_default)),
      admission_(page_limits(config)),
      browser_(executor, browser_options_from(config),
               [&guard](asio::ip::tcp::socket client, std::shared_ptr<egress_ticket> ticket) {
                   guard.serve(std::move(client), ticket);
               })
{
}

browser_state web_browser::state() const { return browser_.state(); }

awaitable<> web_browser::warm_up()
{
    if (!obstacle_.empty()) throw browser_unavailable(obstacle_);
    co_await browser_.warm_up();
}

awaitable<> web_browser::stop() { co_await browser_.stop(); }

std::string web_browser::refusal(const browse_request& request, web_url& where) const
{
    try {
        where = web_url::parse(request.url);
    } catch (const bad_url& problem) {
        return problem.what();
    }
    return obstacle_.empty() ? policy_.judge(where.who, where.port).sentence : obstacle_;
}

awaitable<browse_result> web_browser::browse(caller who, request_io& io, browse_request request)
{
    web_url where;
    std::string refused = refusal(request, where);
    if (!refused.empty()) co_return failed_visit(request.url, std::move(refused));
    std::string key = admission_key(who);
    auto place = co_await admission_.enter(std::move(key), &io);
    if (!place)
        co_return failed_visit(request.url,
                               "The browser is busy: too many pages wait for their turn. Try again in a few seconds.");
    const visit_limits limits{most_content_, chosen_timeout(request.timeout, timeout_default_, timeout_max_),
                              timeout_max_};
    progress_sender progress(io);
    page_visit visit(browser_, progress, guard_.issue("web_browse", traffic_limits()), std::move(request),
                     std::move(where), limits);
    auto work = visit.run();
    auto result = co_await with_progress(progress, std::move(work));
    co_return result;
}

}  // namespace cmcp
