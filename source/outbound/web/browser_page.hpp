#pragma once

#include "async/asio.hpp"
#include "async/event.hpp"
#include "web/devtools_connection.hpp"
#include "web/page_log.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// The page cannot do what was asked; what() is a sentence for the caller.
struct page_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The process that showed the page has ended; what() is a sentence for the caller.
struct page_crashed : page_error {
    using page_error::page_error;
};

/// A frame of a page.
struct page_frame {
    std::string id;
    std::string parent;  ///< the id of the frame, or of the page, that holds it
    std::string url;
};

/// A picture of a page.
struct browser_screenshot {
    std::string media_type;  ///< image/png or image/jpeg; empty: none that is small enough
    std::string base64;
};

/// A page in a context of its own. Owned by the lease that browser::open() gives. Io thread only.
class browser_page {
public:
    browser_page(std::shared_ptr<devtools_connection> connection, std::string session, std::string frame);
    browser_page(const browser_page&) = delete;
    browser_page& operator=(const browser_page&) = delete;
    ~browser_page();

    /// Switches on the events and the size that the other members need.
    awaitable<> prepare();

    /// Goes to `url` and returns as soon as it answers. Returns the browser's error name ("net::ERR_…"), empty when it
    /// worked.
    awaitable<std::string> navigate(std::string url);

    /// Waits for the load event, then until the page is quiet: nothing in flight for half a second; at once where the
    /// page has no script; at most `longest` after the load event.
    awaitable<> settle(std::chrono::milliseconds longest);

    /// Waits until the effects of an action are done, a navigation among them.
    awaitable<> settle_after_action();

    /// Calls `function` (JavaScript source of a function) in a world that the page's scripts cannot touch; again when
    /// the page changes meanwhile. Throws page_error with the exception's text.
    awaitable<json::value> evaluate(std::string_view function, json::array arguments);

    /// The same in the page of a frame. Throws devtools_error when it has gone.
    awaitable<json::value> evaluate_in(page_frame frame, std::string_view function, json::array arguments);

    /// The same in the page that holds the frame; `this` is the frame's element.
    awaitable<json::value> evaluate_on(page_frame frame, std::string_view function, json::array arguments);

    /// The frames of the page and those in them, each behind the one that holds it; a bounded number.
    awaitable<std::vector<page_frame>> frames();

    /// A command of the page's session, such as Input.insertText.
    awaitable<json::object> command(std::string method, json::object params);

    /// Stops loading and scripts, so that the page can be read as it is. Cannot be undone.
    void freeze();

    awaitable<browser_screenshot> capture(std::size_t most_bytes);

    bool crashed() const { return !gone_.empty(); }
    const std::deque<std::string>& notes() const { return notes_; }  ///< events that the caller should know
    const page_log& log() const { return log_; }
    const std::string& download() const { return download_; }  ///< address of a refused download; empty: none

private:
    void hear(const std::string& method, const json::object& params);
    void stop_log_when_flooded();
    void hear_lifecycle(const json::object& params);
    void hear_dialog(const json::object& params);
    void note_window(const std::string& url);
    void lose(std::string why);
    void note(std::string sentence);
    bool main_frame(const json::object& params) const;
    void check_alive() const;
    awaitable<std::int64_t> world();
    awaitable<std::int64_t> world_of(std::string frame);
    awaitable<json::value> call_function(json::object where, std::string_view function, json::array arguments);
    awaitable<json::value> evaluate_once(std::string_view function, json::array arguments);
    bool is_loaded() const;
    bool is_quiet() const;  ///< loaded, and no request is in flight
    bool has_stopped() const;
    awaitable<> wait_until(bool (browser_page::*condition)() const);
    awaitable<std::string> capture_once(std::string_view format, int quality);

    std::shared_ptr<devtools_connection> connection_;
    std::string session_;
    std::string frame_;
    event changed_;
    std::string loader_;             // of the document that is shown
    std::set<std::string> reached_;  // its lifecycle events
    bool loading_ = false;
    std::string gone_;        // why the page is gone; empty: it is there
    std::int64_t world_ = 0;  // 0: none in this document yet
    std::deque<std::string> notes_;
    std::string download_;
    page_log log_;
    bool logs_ = true;
};

}  // namespace cmcp
