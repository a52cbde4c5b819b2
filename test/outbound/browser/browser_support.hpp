#pragma once

#include "async/blocking_pool.hpp"
#include "config/settings.hpp"
#include "sandbox/native_backend.hpp"
#include "test/execution/runs/run_support.hpp"
#include "test/outbound/web/origin.hpp"
#include "test/support/catch.hpp"
#include "test/support/eventually.hpp"
#include "test/support/run_coroutine.hpp"
#include "web/web_browser.hpp"

#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

namespace cmcp::test {

inline constexpr auto patience = std::chrono::seconds(100);  // a busy machine starts a browser in many seconds

inline sandbox::native_backend::options launcher_with(sandbox::browser_program browser)
{
    sandbox::native_backend::options options;
    options.launcher_path = std::string(CMCP_BUILD_DIR) + "/container-mcp-launcher";
    options.launcher.browser = std::move(browser);
    return options;
}

/// A real Chromium over a guard that lets it reach one web server on loopback.
struct browser_stage {
    explicit browser_stage(settings base = {}, asio::ssl::context* tls = nullptr)
        : web(io, tls),
          config(with_web(std::move(base), web)),
          backend(io.get_executor(), launcher_with(browser_for_launcher(config))),
          guard(io.get_executor(), std::make_shared<const egress_policy>(egress_policy::from_settings(config))),
          reader(config, backend, readers, pool),
          browser(io.get_executor(), config, backend, guard, reader, pool)
    {
    }
    ~browser_stage() { run_coroutine(io, browser.stop(), patience); }

    static settings with_web(settings config, const origin& web)
    {
        config.web_allowed_private.push_back(web.authority());
        if (config.web_timeout_default == settings().web_timeout_default)
            config.web_timeout_default = std::chrono::seconds(60);
        return config;
    }

    void page(const std::string& path, std::string html) { web.on(path, send(answer(std::move(html)))); }

    browse_request to(const std::string& path) const
    {
        browse_request request;
        request.url = web.url(path);
        request.format = "text";
        return request;
    }
    awaitable<browse_result> start(browse_request request, std::string principal = {})
    {
        caller who;
        if (!principal.empty()) who.principal = std::move(principal);
        auto result = co_await browser.browse(std::move(who), progress, std::move(request));
        co_return result;
    }
    browse_result browse_as(std::string principal, const std::string& path)
    {
        auto work = start(to(path), std::move(principal));
        return run_coroutine(io, std::move(work), patience);
    }
    browse_result browse(browse_request request) { return run_coroutine(io, start(std::move(request)), patience); }
    browse_result browse(const std::string& path) { return browse(to(path)); }

    asio::io_context io;
    origin web;
    origin canary{io};  ///< another, which must not be reached
    settings config;
    sandbox::native_backend backend;
    egress_guard guard;
    blocking_pool pool;
    run_admission readers{{.at_once = 8, .per_caller = 8, .waiting = 64, .what = "page"}};
    web_page_reader reader;
    recording_io progress{io.get_executor()};
    web_browser browser;
};

inline page_action action(page_action::kind what, std::string selector, std::string text = {})
{
    page_action action;
    action.what = what;
    action.selector = std::move(selector);
    action.text = action.key = std::move(text);
    return action;
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline bool has(const std::vector<std::string>& notes, const std::string& part)
{
    for (const auto& note : notes)
        if (has(note, part)) return true;
    return false;
}

/// Returns false without Chromium, and prints the line that ctest takes for a skipped test.
inline bool browser_is_installed()
{
    if (!find_browser_program(settings()).empty()) return true;
    std::cout << "not tested: the package chromium is not installed\n";
    return false;
}

}  // namespace cmcp::test
