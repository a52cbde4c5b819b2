#include "web/browser_instance.hpp"

#include "async/with_deadline.hpp"
#include "log/log.hpp"
#include "web/browser_command_line.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {
namespace {

constexpr const char* profile_inside = "/home/browser/profile";
constexpr auto to_stop = std::chrono::seconds(5);
constexpr auto to_clear = std::chrono::seconds(10);
constexpr auto to_explain = std::chrono::seconds(3);
constexpr std::uint16_t first_port = browser_host_protocol::first_proxy_port;

// The first port is the browser's own: what it wants to say by itself is dropped there.
browser_process_options process_options(const browser_options& chosen, std::size_t ports)
{
    browser_process_options made;
    made.host_path = chosen.host_path;
    made.argv = browser_command_line(chosen.program, profile_inside, first_port);
    made.policy = browser_policy(chosen.certificates);
    made.memory = chosen.memory;
    made.proxies = static_cast<std::uint32_t>(ports);
    return made;
}

std::size_t ports_for(const browser_options& chosen) { return chosen.pages + 2; }  // one for the spare page

// Mostly too many open files: trying again at once would only burn time.
awaitable<> pause_accepting(asio::any_io_executor executor)
{
    asio::steady_timer timer(executor, std::chrono::milliseconds(100));
    co_await timer.async_wait(asio::use_awaitable);
}

// Every page begins halted, so that one that was not asked for can be closed before it does anything.
json::object halt_new_pages()
{
    json::object pages;
    pages["type"] = "page";
    json::object others;
    others["exclude"] = true;
    json::array filter;
    filter.push_back(std::move(pages));
    filter.push_back(std::move(others));
    json::object made;
    made["autoAttach"] = true;
    made["waitForDebuggerOnStart"] = true;
    made["flatten"] = true;
    made["filter"] = std::move(filter);
    return made;
}

std::string text_at(const json::object& from, std::string_view name)
{
    const json::value* found = from.if_contains(name);
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

}  // namespace

browser::instance::instance(asio::any_io_executor executor, browser_options chosen, way_out serve)
    : executor_(executor),
      options_(std::move(chosen)),
      serve_(std::move(serve)),
      process_(executor, process_options(options_, ports_for(options_))),
      connection_(std::make_shared<devtools_connection>(process_.take_stream())),
      slots_(ports_for(options_)),
      idle_(executor),
      tasks_(executor)
{
    for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].port = static_cast<std::uint16_t>(first_port + i);
    slots_[0].taken = true;
}

browser::instance::~instance() { connection_->ignore(std::string()); }

awaitable<std::shared_ptr<browser::instance>> browser::instance::start(asio::any_io_executor executor,
                                                                       browser_options chosen, way_out serve)
{
    auto made = std::make_shared<instance>(executor, std::move(chosen), std::move(serve));
    try {
        auto launching = made->launch();
        co_await with_deadline(std::move(launching), made->options_.start_limit);
    } catch (const deadline_exceeded&) {
        made->kill();
        throw browser_unavailable(
            "The browser did not answer in time after its start: the machine is too busy or has too little memory.");
    } catch (const devtools_closed& problem) {
        made->kill();
        throw browser_unavailable("The browser cannot be started: " + std::string(problem.what()) + ".");
    } catch (...) {
        made->kill();
        throw;
    }
    log::info(
        "browser_started",
        {{"version", made->version_}, {"own_sandbox", made->process_.own_sandbox()}, {"pid", made->process_.pid()}});
    made->rest();
    co_return made;
}

awaitable<> browser::instance::launch()
{
    auto self = shared_from_this();
    co_await process_.started();
    tasks_.spawn("browser_stream", read(self));
    tasks_.spawn("browser_process", watch(self));
    auto listeners = process_.take_listeners();
    for (std::size_t i = 0; i < listeners.size(); ++i)
        tasks_.spawn("browser_way_out", accept(self, std::move(listeners[i]), i));
    connection_->listen(std::string(),
                        [this](const std::string& method, const json::object& params) { hear(method, params); });
    connection_->send(std::string(), "Target.setAutoAttach", halt_new_pages());
    auto answer = co_await connection_->call(std::string(), "Browser.getVersion", json::object());
    version_ = text_at(answer, "product");
}

awaitable<> browser::instance::read(std::shared_ptr<instance> self)
{
    co_await self->connection_->run();
    // The process says more about its end than the stream; but it may be stuck.
    asio::steady_timer patience(self->executor_, to_explain);
    co_await patience.async_wait(asio::use_awaitable);
    self->connection_->close("the browser ended");
}

awaitable<> browser::instance::watch(std::shared_ptr<instance> self)
{
    const std::string how = co_await self->process_.ended();
    log::warning("browser_ended", {{"how", how}});
    self->connection_->close("the browser ended (" + how + ")");
    self->kill();
}

awaitable<> browser::instance::accept(std::shared_ptr<instance> self, asio::ip::tcp::acceptor listener,
                                      std::size_t number)
{
    for (;;) {
        auto [failure, client] = co_await listener.async_accept(as_tuple);
        if (failure == asio::error::operation_aborted) co_return;
        auto ticket = self->slots_[number].ticket;
        if (!failure && ticket) self->serve_(std::move(client), std::move(ticket));
        if (failure) co_await pause_accepting(self->executor_);
    }
}

// The first page of a context is the one that was asked for; others are windows that it opened.
void browser::instance::hear(const std::string& method, const json::object& params)
{
    const json::value* about = params.if_contains("targetInfo");
    if (method != "Target.attachedToTarget" || about == nullptr || !about->is_object()) return;
    const json::object& target = about->get_object();
    const std::string context = text_at(target, "browserContextId");
    const auto found = std::find_if(slots_.begin(), slots_.end(),
                                    [&](const slot& each) { return !context.empty() && each.context == context; });
    if (found != slots_.end() && found->session.empty()) {
        found->session = text_at(params, "sessionId");
        found->target = text_at(target, "targetId");
        attached_.notify();
        return;
    }
    if (found != slots_.end() && found->page) found->page->note_window(text_at(target, "url"));
    json::object which;
    which["targetId"] = text_at(target, "targetId");
    connection_->send(std::string(), "Target.closeTarget", std::move(which));
}

awaitable<std::size_t> browser::instance::take_slot()
{
    for (;;) {
        if (!usable()) throw devtools_closed("the browser ended");
        const auto found = std::find_if(slots_.begin(), slots_.end(), [](const slot& each) { return !each.taken; });
        if (found != slots_.end()) {
            found->taken = true;
            co_return static_cast<std::size_t>(found - slots_.begin());
        }
        co_await freed_.wait();
    }
}

awaitable<> browser::instance::make_page(std::size_t number)
{
    slot& place = slots_[number];
    json::object context;
    context["disposeOnDetach"] = true;
    context["proxyServer"] = "http://127.0.0.1:" + std::to_string(place.port);
    context["proxyBypassList"] = "<-loopback>";
    auto made = co_await connection_->call(std::string(), "Target.createBrowserContext", std::move(context));
    place.context = text_at(made, "browserContextId");
    json::object denied;
    denied["behavior"] = "deny";
    denied["browserContextId"] = place.context;
    connection_->send({}, "Browser.setDownloadBehavior", std::move(denied));
    json::object target;
    target["url"] = "about:blank";
    target["browserContextId"] = place.context;
    co_await connection_->call(std::string(), "Target.createTarget", std::move(target));
    while (place.session.empty()) {
        if (!connection_->open()) throw devtools_closed("the browser ended");
        co_await attached_.wait();
    }
    place.page = std::make_unique<browser_page>(connection_, place.session, place.target);
    co_await place.page->prepare();
}

awaitable<std::shared_ptr<browser_page>> browser::instance::open(std::shared_ptr<egress_ticket> ticket)
{
    auto self = shared_from_this();
    ++open_;
    ++served_;
    idle_.cancel();
    std::size_t number = 0;
    try {
        number = co_await take_spare();
        if (number == 0) number = co_await take_slot();
        if (!slots_[number].page) co_await make_page(number);
    } catch (...) {
        give_back(number);
        throw;
    }
    slots_[number].ticket = std::move(ticket);
    co_return lease(number);
}

// The page that was made ready, if it still answers: its process may have ended meanwhile. 0: none.
awaitable<std::size_t> browser::instance::take_spare()
{
    if (!spare_) co_return 0;
    const std::size_t number = *std::exchange(spare_, std::nullopt);
    try {
        constexpr const char* any = "function() { return 1 }";
        co_await slots_[number].page->evaluate(any, json::array());
        co_return number;
    } catch (const page_error&) {
        tasks_.spawn("browser_page_end", clear(shared_from_this(), number));
    } catch (...) {
        tasks_.spawn("browser_page_end", clear(shared_from_this(), number));
        throw;
    }
    co_return 0;
}

std::shared_ptr<browser_page> browser::instance::lease(std::size_t number)
{
    return {slots_[number].page.get(), [self = shared_from_this(), number](browser_page*) { self->give_back(number); }};
}

void browser::instance::give_back(std::size_t number)
{
    --open_;
    slots_[number].ticket.reset();
    if (number != 0 && usable())
        tasks_.spawn("browser_page_end", clear(shared_from_this(), number));
    else if (number != 0)
        slots_[number].page.reset();
    if (open_ == 0) rest();
}

awaitable<> browser::instance::dispose(std::size_t number)
{
    slot& place = slots_[number];
    place.page.reset();
    place.session.clear();
    place.target.clear();
    if (place.context.empty()) co_return;
    json::object which;
    which["browserContextId"] = std::exchange(place.context, {});
    co_await connection_->call(std::string(), "Target.disposeBrowserContext", std::move(which));
}

awaitable<> browser::instance::clear(std::shared_ptr<instance> self, std::size_t number)
{
    try {
        auto disposing = self->dispose(number);
        co_await with_deadline(std::move(disposing), to_clear);
    } catch (const deadline_exceeded&) {
        self->connection_->close("the browser did not close a page");
        self->kill();
    } catch (const devtools_error& problem) {
        log::warning("browser_context_left", {{"error", problem.what()}});
    } catch (const devtools_closed&) {
        co_return;
    }
    self->slots_[number].taken = false;
    self->freed_.notify();
    if (self->usable() && !self->spare_ && self->options_.idle.count() > 0) co_await make_spare(self);
}

awaitable<> browser::instance::make_spare(std::shared_ptr<instance> self)
{
    const auto found =
        std::find_if(self->slots_.begin(), self->slots_.end(), [](const slot& each) { return !each.taken; });
    if (found == self->slots_.end()) co_return;
    found->taken = true;
    const auto number = static_cast<std::size_t>(found - self->slots_.begin());
    try {
        co_await self->make_page(number);
        if (!self->spare_)
            self->spare_ = number;
        else
            co_await self->dispose(number);
        if (self->spare_ == number) co_return;
    } catch (const devtools_error& problem) {
        log::warning("browser_spare_page", {{"error", problem.what()}});
    } catch (const devtools_closed&) {
        co_return;
    }
    self->slots_[number].taken = false;
    self->freed_.notify();
}

void browser::instance::rest()
{
    if (retired_ || open_ != 0) return;
    if (options_.idle.count() == 0 ? served_ != 0 : served_ >= options_.calls) return retire();
    idle_.expires_after(options_.idle.count() == 0 ? std::chrono::minutes(1) : options_.idle);
    idle_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
        const auto self = weak.lock();
        if (!error && self && self->open_ == 0) self->retire();
    });
}

void browser::instance::retire()
{
    if (std::exchange(retired_, true)) return;
    tasks_.spawn("browser_end", end(shared_from_this()));
}

awaitable<> browser::instance::end(std::shared_ptr<instance> self)
{
    co_await self->process_.stop(to_stop);
    log::info("browser_stopped", {{"pages", self->served_}});
    self->kill();
}

awaitable<> browser::instance::stop()
{
    auto self = shared_from_this();
    retired_ = true;
    connection_->close("the browser was stopped");
    co_await process_.stop(to_stop);
    kill();
}

void browser::instance::kill()
{
    retired_ = true;
    connection_->ignore(std::string());
    connection_->close("the browser was stopped");
    process_.kill();
    idle_.cancel();
    freed_.notify();
    attached_.notify();
    tasks_.cancel_all();
}

browser_state browser::instance::state() const
{
    return {usable(), process_.own_sandbox(), version_, open_, process_.pid()};
}

}  // namespace cmcp
