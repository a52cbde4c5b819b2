#pragma once

#include "async/asio.hpp"
#include "egress/egress_guard.hpp"
#include "mcp/caller.hpp"
#include "mcp/request_io.hpp"
#include "runs/run_admission.hpp"
#include "sandbox/backend.hpp"
#include "web/browser_pool.hpp"
#include "web/page_visit.hpp"
#include "wire/launcher_options.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace cmcp {

struct settings;

/// The whole policy of browsing: which browser, how many pages at once, how long and how much.
class web_browser {
public:
    /// `backend`, whose launcher has browser_for_launcher(), `guard`, `reader` and `pool` must outlive this.
    web_browser(asio::any_io_executor executor, const settings& config, sandbox::backend& backend, egress_guard& guard,
                web_page_reader& reader, blocking_pool& pool);

    /// Failures that the caller can correct are results with `error`; cancellation passes through.
    awaitable<browse_result> browse(caller who, request_io& io, browse_request request);

    /// How web tools of the caller reach a page of this machine; `none`: it is one of another.
    enum class machine { none, open, closed };
    machine machine_of(const caller& who, const std::string& url) const;

    /// Starts the browser. Throws browser_unavailable.
    awaitable<> warm_up();

    awaitable<> stop();

    const std::string& obstacle() const { return obstacle_; }  ///< why there is no browser; empty: there is one
    browser_state state() const;                               ///< of the browser that was used last
    std::vector<browser_state> states() const { return browsers_.states(); }

private:
    std::string refusal(const caller& who, const browse_request& request, web_url& where) const;

    egress_guard& guard_;
    web_page_reader& reader_;
    egress_policy policy_;
    std::string obstacle_;
    std::size_t most_content_;
    std::chrono::milliseconds timeout_default_;
    std::chrono::milliseconds timeout_max_;
    run_admission admission_;
    browser_pool browsers_;
};

/// WEB_BROWSER_PATH, or the first Chromium in the usual folders; empty: there is none.
std::string find_browser_program(const settings& config);

/// The layer that is Chromium's own sandbox.
inline constexpr const char* browser_layer = "browser_sandbox";

/// The browser that the launcher may start; without a path where there is none. Where SANDBOX_REQUIRE names
/// browser_layer and that is missing, there is no browser, either.
sandbox::browser_program browser_for_launcher(const settings& config);

/// Why there can be no browser, in a sentence that says what to do; empty: there can.
std::string browser_obstacle(const settings& config);

}  // namespace cmcp
