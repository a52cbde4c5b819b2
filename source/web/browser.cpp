#include "web/browser.hpp"

#include "web/browser_instance.hpp"

#include <utility>

namespace cmcp {

browser::browser(asio::any_io_executor executor, browser_options chosen, way_out serve)
    : executor_(executor), options_(std::move(chosen)), serve_(std::move(serve))
{
}

browser::~browser()
{
    if (current_) current_->kill();
}

awaitable<std::shared_ptr<browser::instance>> browser::running()
{
    while (starting_) co_await started_.wait();
    if (current_ && current_->usable()) co_return current_;
    struct start_mark {
        browser& of;
        ~start_mark()
        {
            of.starting_ = false;
            of.started_.notify();
        }
    };
    starting_ = true;
    const start_mark mark{*this};
    current_.reset();
    auto made = co_await instance::start(executor_, options_, serve_);
    current_ = made;
    co_return made;
}

awaitable<std::shared_ptr<browser_page>> browser::open(std::shared_ptr<egress_ticket> ticket)
{
    // It may have died or been retired between two calls; a second failure is the caller's to know.
    try {
        auto now = co_await running();
        auto page = co_await now->open(ticket);
        co_return page;
    } catch (const devtools_closed&) {
    }
    auto now = co_await running();
    auto page = co_await now->open(std::move(ticket));
    co_return page;
}

awaitable<> browser::warm_up()
{
    auto now = co_await running();
    static_cast<void>(now);
}

awaitable<> browser::stop()
{
    auto last = std::exchange(current_, nullptr);
    if (last) co_await last->stop();
}

browser_state browser::state() const { return current_ ? current_->state() : browser_state(); }

}  // namespace cmcp
