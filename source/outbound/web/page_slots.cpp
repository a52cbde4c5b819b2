#include "web/page_slots.hpp"

#include "async/with_deadline.hpp"
#include "jsonrpc/read_object.hpp"
#include "log/log.hpp"
#include "wire/run_request.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

constexpr auto to_clear = std::chrono::seconds(10);

// Every page begins halted, so that an unwanted window can be closed before it does anything.
json::object halt_new_pages()
{
    json::array filter{json::object{{"type", "page"}}, json::object{{"exclude", true}}};
    return {{"autoAttach", true}, {"waitForDebuggerOnStart", true}, {"flatten", true}, {"filter", std::move(filter)}};
}

}  // namespace

page_slots::page_slots(std::shared_ptr<devtools_connection> connection, std::size_t count, bool keeps_spare,
                       std::function<void()> broken)
    : connection_(std::move(connection)),
      slots_(count),
      keeps_spare_(keeps_spare),
      broken_(std::move(broken)),
      tasks_(connection_->executor())
{
    slots_[0].in_use = true;
}

void page_slots::listen()
{
    connection_->listen(std::string(), [this](const std::string& method, const json::object& params) {
        if (method == "Target.attachedToTarget") attached(params);
    });
    connection_->send(std::string(), "Target.setAutoAttach", halt_new_pages());
}

awaitable<std::size_t> page_slots::open(std::shared_ptr<egress_ticket> ticket)
{
    auto number = co_await take_spare();
    if (number == 0) number = co_await wait_for_free();
    try {
        if (!slots_[number].page) co_await make_page(number);
    } catch (...) {
        close(number);
        throw;
    }
    slots_[number].ticket = std::move(ticket);
    co_return number;
}

void page_slots::close(std::size_t number)
{
    slots_[number].ticket.reset();
    if (usable())
        tasks_.spawn("browser_page_end", clear(shared_from_this(), number));
    else
        slots_[number].page.reset();
}

void page_slots::stop()
{
    connection_->ignore(std::string());
    stopped_ = true;
    freed_.notify();
    attached_.notify();
    tasks_.cancel_all();
}

std::size_t page_slots::take_free()
{
    const auto at = std::find_if(slots_.begin(), slots_.end(), [](const slot& each) { return !each.in_use; });
    if (at == slots_.end()) return 0;
    at->in_use = true;
    return static_cast<std::size_t>(at - slots_.begin());
}

void page_slots::set_free(std::size_t number)
{
    slots_[number].in_use = false;
    freed_.notify();
}

awaitable<std::size_t> page_slots::wait_for_free()
{
    for (;;) {
        if (!usable()) throw devtools_closed("the browser ended");
        if (const auto number = take_free(); number != 0) co_return number;
        co_await freed_.wait();
    }
}

// The process of the spare page may have ended meanwhile, so the page has to answer first.
awaitable<std::size_t> page_slots::take_spare()
{
    const auto number = std::exchange(spare_, 0);
    if (number == 0) co_return 0;
    try {
        constexpr const char* any = "function() { return 1 }";
        co_await slots_[number].page->evaluate(any, json::array());
        co_return number;
    } catch (const page_error&) {
        close(number);
    } catch (...) {
        close(number);
        throw;
    }
    co_return 0;
}

awaitable<> page_slots::make_page(std::size_t number)
{
    slot& one = slots_[number];
    const auto port = sandbox::first_proxy_port + number;
    json::object context{{"disposeOnDetach", true},
                         {"proxyServer", "http://127.0.0.1:" + std::to_string(port)},
                         {"proxyBypassList", "<-loopback>"}};
    auto created = co_await connection_->call(std::string(), "Target.createBrowserContext", std::move(context));
    one.context = text_of(created, "browserContextId");
    json::object denied{{"behavior", "deny"}, {"browserContextId", one.context}};
    connection_->send({}, "Browser.setDownloadBehavior", std::move(denied));
    json::object target{{"url", "about:blank"}, {"browserContextId", one.context}};
    co_await connection_->call(std::string(), "Target.createTarget", std::move(target));
    while (one.session.empty()) {
        if (!connection_->open()) throw devtools_closed("the browser ended");
        co_await attached_.wait();
    }
    one.page = std::make_unique<browser_page>(connection_, one.session, one.target);
    co_await one.page->prepare();
}

// The first target of a context is its page; others are windows that the page opened.
void page_slots::attached(const json::object& params)
{
    const json::object& target = object_of(params, "targetInfo");
    if (target.empty()) return;
    const std::string context = text_of(target, "browserContextId");
    const auto owner = std::find_if(slots_.begin(), slots_.end(),
                                    [&](const slot& each) { return !context.empty() && each.context == context; });
    if (owner != slots_.end() && owner->session.empty()) {
        owner->session = text_of(params, "sessionId");
        owner->target = text_of(target, "targetId");
        attached_.notify();
        return;
    }
    // A halted window holds up the page that opened it, whose thread it shares. It goes on with every request withheld,
    // and no further.
    const std::string window = text_of(params, "sessionId");
    json::object everything{{"patterns", json::array{json::object{{"urlPattern", "*"}}}}};
    connection_->send(window, "Fetch.enable", std::move(everything));
    connection_->send(window, "Runtime.runIfWaitingForDebugger", {});
    connection_->send({}, "Target.closeTarget", {{"targetId", text_of(target, "targetId")}});
}

awaitable<> page_slots::dispose(std::size_t number)
{
    slot& one = slots_[number];
    one.page.reset();
    one.session.clear();
    one.target.clear();
    if (one.context.empty()) co_return;
    json::object context{{"browserContextId", std::exchange(one.context, {})}};
    co_await connection_->call(std::string(), "Target.disposeBrowserContext", std::move(context));
}

awaitable<> page_slots::clear(std::shared_ptr<page_slots> self, std::size_t number)
{
    try {
        auto disposing = self->dispose(number);
        co_await with_deadline(std::move(disposing), to_clear);
    } catch (const deadline_exceeded&) {
        self->connection_->close("the browser did not close a page");
        self->broken_();
    } catch (const devtools_error& problem) {
        log::warning("browser_context_left", {{"error", problem.what()}});
    } catch (const devtools_closed&) {
        co_return;
    }
    self->set_free(number);
    if (self->keeps_spare_ && self->spare_ == 0 && self->usable()) co_await self->make_spare();
}

awaitable<> page_slots::make_spare()
{
    const auto number = take_free();
    if (number == 0) co_return;
    try {
        co_await make_page(number);
        if (spare_ == 0) {
            spare_ = number;
            co_return;
        }
        co_await dispose(number);
    } catch (const devtools_error& problem) {
        log::warning("browser_spare_page", {{"error", problem.what()}});
    } catch (const devtools_closed&) {
        co_return;
    }
    set_free(number);
}

}  // namespace cmcp
