#pragma once

#include "async/blocking_pool.hpp"
#include "async/event.hpp"
#include "egress/egress_guard.hpp"
#include "sandbox/backend.hpp"
#include "web/browser_page.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace cmcp {

struct browser_options {
    sandbox::backend* backend = nullptr;      ///< runs it; must outlive the browser
    egress_guard* guard = nullptr;            ///< its pages' way out; must outlive the browser
    std::string program;                      ///< absolute path of Chromium
    std::string certificates;                 ///< PEM, trusted beside the browser's own
    std::size_t number = 0;                   ///< of those that live at once
    std::string principal{};                  ///< whose it is; empty: nobody has used it
    std::size_t pages = 4;                    ///< at once, at most 12
    std::chrono::milliseconds idle{300'000};  ///< without a page for so long, it ends; 0: at once
    std::chrono::milliseconds start_limit{30'000};
    blocking_pool* pool = nullptr;  ///< parses what the browser sends; must outlive the browser
    std::size_t calls = 500;        ///< after so many pages a new browser replaces it
};

/// The browser that runs.
struct browser_state {
    bool running = false;
    bool own_sandbox = false;  ///< Chromium's own sandbox works
    std::string version;
    std::size_t pages = 0;  ///< open
    int pid = -1;           ///< of the first process of its cell
};

/// A principal's browser. The browser is started with the first page, stays warm, is started again when it has died,
/// and ends when idle. Each page has a context of its own (no cookies, cache or storage of another) and a way out of
/// its own. Io thread only.
class browser {
public:
    browser(asio::any_io_executor executor, browser_options options);
    browser(const browser&) = delete;
    browser& operator=(const browser&) = delete;
    ~browser();  ///< kills it

    /// The context of a page ends with the last copy of the pointer. Throws browser_unavailable, devtools_closed,
    /// devtools_error.
    awaitable<std::shared_ptr<browser_page>> open(std::shared_ptr<egress_ticket> ticket);

    /// Starts it now, so that the first page is as quick as the others. Throws browser_unavailable.
    awaitable<> warm_up();

    awaitable<> stop();  ///< open pages fail; the next open() starts it again
    void give_to(std::string principal) { options_.principal = std::move(principal); }
    browser_state state() const;

    class instance;

private:
    awaitable<std::shared_ptr<instance>> running();

    asio::any_io_executor executor_;
    browser_options options_;
    std::shared_ptr<instance> current_;
    event started_;
    bool starting_ = false;
};

}  // namespace cmcp
