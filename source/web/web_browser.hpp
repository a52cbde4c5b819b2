#pragma once

#include "async/asio.hpp"
#include "config/settings.hpp"
#include "egress/egress_guard.hpp"
#include "egress/web_url.hpp"
#include "mcp/caller.hpp"
#include "mcp/request_io.hpp"
#include "runs/run_admission.hpp"
#include "web/browser.hpp"
#include "web/page_actions.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp {

struct browse_request {
    std::string url;
    std::string wait_for;  ///< CSS selector; empty: none
    std::vector<page_action> actions;
    std::string selector;         ///< what to return; empty: the whole page
    std::string format = "html";  ///< html, text, markdown
    bool screenshot = false;
    std::optional<double> timeout;  ///< seconds
};

struct browse_result {
    bool success = false;
    std::string content;
    std::string url;  ///< the final one
    std::string title;
    std::string error;                   ///< a sentence; empty when success
    int status = 0;                      ///< of HTTP; 0: unknown
    std::optional<std::size_t> matches;  ///< of `selector`
    bool truncated = false;
    bool timed_out = false;
    std::vector<std::string> notes;  ///< dialogs, downloads, windows, requests that were refused
    std::optional<browser_screenshot> screenshot;
    std::chrono::milliseconds duration{0};
};

/// The whole policy of browsing: which browser, how many pages at once, how long, how much, and what is told of it.
class web_browser {
public:
    /// `guard` must outlive this.
    web_browser(asio::any_io_executor executor, const settings& chosen, egress_guard& guard);

    /// Failures that the caller can correct are results with `error`; cancellation passes through.
    awaitable<browse_result> browse(caller who, request_io& io, browse_request asked);

    /// Starts the browser, as WEB_BROWSER_START asks. Throws browser_unavailable.
    awaitable<> warm_up();

    awaitable<> stop();

    const std::string& obstacle() const
    {
        return obstacle_;
    }  ///< why there is no browser, a sentence; empty: there is one
    const std::string& program() const { return options_.program; }
    browser_state state() const;

private:
    struct visit;

    std::string refusal(const browse_request& asked, web_url& where) const;
    awaitable<browse_result> visit_in_time(visit& now);
    awaitable<> go(visit& now);
    awaitable<> load(visit& now);
    awaitable<> act(visit& now);
    awaitable<> read(visit& now);
    awaitable<> read_late(visit& now);
    void conclude(visit& now);
    static bool shows_nothing(const visit& now);
    void conclude_late(visit& now);

    asio::any_io_executor executor_;
    egress_guard& guard_;
    egress_policy policy_;
    browser_options options_;
    std::string obstacle_;
    std::size_t most_content_;
    std::chrono::milliseconds timeout_default_;
    std::chrono::milliseconds timeout_max_;
    run_admission admission_;
    browser browser_;
};

}  // namespace cmcp
