#pragma once

#include "async/asio.hpp"
#include "egress/egress_ticket.hpp"
#include "egress/web_url.hpp"
#include "web/browser.hpp"
#include "web/page_actions.hpp"
#include "web/web_page_reader.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp {

class progress_sender;

struct browse_request {
    way_into_sandbox inside;  ///< of whose pages `url` names one, at localhost; empty: it is one of the outside
    std::string url;
    std::string wait_for;  ///< CSS selector; empty: none
    std::vector<page_action> actions;
    std::string selector;         ///< of the content; empty: the whole page
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
    std::vector<std::string> notes;  ///< dialogs, downloads, windows, requests that were refused, and `log` in short
    std::vector<page_event> log;     ///< what the page wrote to its console and failed at
    std::optional<browser_screenshot> screenshot;
    std::chrono::milliseconds duration{0};
};

/// Makes text of what a browser has laid out, as for web_scrape: web_page_reader::read for one caller.
using page_renderer =
    std::function<awaitable<json::object>(std::string page, page_wish wish, std::chrono::milliseconds limit)>;

struct visit_limits {
    std::size_t content = 0;  ///< bytes
    std::chrono::milliseconds time{0};
    std::chrono::milliseconds longest_time{0};  ///< that a request may have
};

/// A call of web_browse: opens a page, acts on it and reads it. It does not move while it runs.
class page_visit {
public:
    /// `from` and `progress` must outlive this.
    page_visit(browser& from, progress_sender& progress, std::shared_ptr<egress_ticket> ticket, browse_request request,
               web_url where, visit_limits limits, page_renderer render);

    /// Failures that the caller can correct are results with `error`; cancellation passes through.
    awaitable<browse_result> run();

private:
    void enter(std::string phase);
    awaitable<> go();
    awaitable<> load();
    awaitable<> act();
    awaitable<> read();
    awaitable<> read_frames(std::vector<page_frame> frames);
    awaitable<bool> read_frame(page_frame frame);
    awaitable<json::object> extract_in(page_frame frame, std::string selector);
    awaitable<> find_in_frames(std::vector<page_frame> frames);
    awaitable<> read_late();
    awaitable<> render(std::chrono::milliseconds left);
    awaitable<> notice_refusal();
    std::size_t longest_extract() const;
    void conclude();
    void conclude_log();
    void conclude_late();
    bool shows_nothing() const;

    browser& browser_;
    progress_sender& progress_;
    std::shared_ptr<egress_ticket> ticket_;
    browse_request request_;
    web_url where_;
    visit_limits limits_;
    page_renderer render_;
    std::shared_ptr<browser_page> page_;
    std::string phase_;
    bool arrived_ = false;  // there is a page that can be read
    bool has_content_ = false;
    browse_result result_;
};

}  // namespace cmcp
