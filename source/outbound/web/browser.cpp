#include "web/browser.hpp"

#include "async/task_group.hpp"
#include "async/with_deadline.hpp"
#include "jsonrpc/read_object.hpp"
#include "log/log.hpp"
#include "web/browser_process.hpp"
#include "web/page_slots.hpp"

#include <boost/asio/steady_timer.hpp>

#include <utility>

namespace cmcp {

/// A run of the browser, from its start to its end.
class browser::instance : public std::enable_shared_from_this<instance> {
public:
    /// Starts it and waits until it answers. Throws browser_unavailable.
    static awaitable<std::shared_ptr<instance>> start(asio::any_io_executor executor, browser_options options);

    instance(asio::any_io_executor executor, browser_options options);
    ~instance();

    bool usable() const { return !retired_ && connection_->open(); }
    awaitable<std::shared_ptr<browser_page>> open(std::shared_ptr<egress_ticket> ticket);
    void kill();
    awaitable<> stop();

    browser_state state() const;

private:
    awaitable<> launch();
    egress_guard::holder ticket_of(std::size_t number) const;
    static awaitable<> read(std::shared_ptr<instance> self);
    static awaitable<> watch(std::shared_ptr<instance> self);
    void page_closed();
    void rest();
    void retire();
    static awaitable<> end(std::shared_ptr<instance> self);

    asio::any_io_executor executor_;
    browser_options options_;
    browser_process process_;
    std::shared_ptr<devtools_connection> connection_;
    std::shared_ptr<page_slots> pages_;
    asio::steady_timer idle_;
    std::string version_;
    std::size_t open_ = 0;
    std::size_t served_ = 0;
    bool retired_ = false;
    task_group tasks_;  // last: its children use the others
};

namespace {

constexpr const char* profile_inside = "/home/browser/profile";
constexpr auto to_stop = std::chrono::seconds(5);
constexpr auto to_explain = std::chrono::seconds(3);

// The first port is the browser's own; its connections are dropped there.
sandbox::run_request request_of(const browser_options& browser, std::size_t ports)
{
    sandbox::run_request request;
    request.argv = browser_command_line(browser.program, profile_inside, sandbox::first_proxy_port);
    request.principal = browser.principal;
    request.browser.ports = static_cast<std::uint32_t>(ports);
    request.browser.policy = browser_policy(browser.certificates);
    request.label = "browser";
    return request;
}

// Its own, because a browser that takes the pool's time takes it from no principal; no token has this name.
std::string parser_of(const browser_options& browser) { return "(browser " + std::to_string(browser.number) + ")"; }

std::size_t ports_for(const browser_options& browser) { return browser.pages + 2; }  // one for the spare page

}  // namespace

browser::instance::instance(asio::any_io_executor executor, browser_options options)
    : executor_(executor),
      options_(std::move(options)),
      process_(executor, *options_.backend, request_of(options_, ports_for(options_))),
      connection_(std::make_shared<devtools_connection>(process_.take_stream(), *options_.pool, parser_of(options_))),
      idle_(executor),
      tasks_(executor)
{
}

browser::instance::~instance()
{
    if (pages_) pages_->stop();
}

awaitable<std::shared_ptr<browser::instance>> browser::instance::start(asio::any_io_executor executor,
                                                                       browser_options options)
{
    auto self = std::make_shared<instance>(executor, std::move(options));
    const auto broken = [weak = self->weak_from_this()] {
        if (const auto still = weak.lock()) still->kill();
    };
    self->pages_ = std::make_shared<page_slots>(self->connection_, ports_for(self->options_),
                                                self->options_.idle.count() > 0, broken);
    try {
        auto launching = self->launch();
        co_await with_deadline(std::move(launching), self->options_.start_limit);
    } catch (const deadline_exceeded&) {
        self->kill();
        throw browser_unavailable(
            "The browser did not answer in time after its start: the machine is too busy or has too little memory.");
    } catch (const devtools_closed& problem) {
        self->kill();
        throw browser_unavailable("The browser cannot be started: " + std::string(problem.what()) + ".");
    } catch (...) {
        self->kill();
        throw;
    }
    log::info("browser_started", {{"version", self->version_}, {"pid", self->process_.pid()}});
    if (!self->process_.own_sandbox())
        log::warning("browser_without_own_sandbox",
                     {{"reason",
                       "no further user namespace can be made inside, and SANDBOX_REQUIRE leaves "
                       "browser_sandbox out"}});
    self->rest();
    co_return self;
}

awaitable<> browser::instance::launch()
{
    auto self = shared_from_this();
    co_await process_.started();
    tasks_.spawn("browser_stream", read(self));
    tasks_.spawn("browser_process", watch(self));
    auto listeners = process_.take_listeners();
    for (std::size_t i = 0; i < listeners.size(); ++i)
        tasks_.spawn("browser_way_out", options_.guard->serve_door(std::move(listeners[i]), ticket_of(i)));
    pages_->listen();
    auto answer = co_await connection_->call(std::string(), "Browser.getVersion", json::object());
    version_ = text_of(answer, "product");
}

egress_guard::holder browser::instance::ticket_of(std::size_t number) const
{
    return [pages = pages_, number] { return pages->ticket(number); };
}

awaitable<> browser::instance::read(std::shared_ptr<instance> self)
{
    co_await self->connection_->run();
    if (self->connection_->open()) {
        // The process says more about its end than the stream, but it may be stuck.
        asio::steady_timer patience(self->executor_, to_explain);
        co_await patience.async_wait(asio::use_awaitable);
        self->connection_->close("the browser ended");
    }
    if (self->retired_) co_return;
    log::warning("browser_given_up", {{"reason", self->connection_->closed_because()}});
    self->kill();
}

awaitable<> browser::instance::watch(std::shared_ptr<instance> self)
{
    const std::string how = co_await self->process_.ended();
    if (self->retired_) co_return;
    log::warning("browser_ended", {{"how", how}});
    self->connection_->close("the browser ended (" + how + ")");
    self->kill();
}

awaitable<std::shared_ptr<browser_page>> browser::instance::open(std::shared_ptr<egress_ticket> ticket)
{
    auto self = shared_from_this();
    ++open_;
    ++served_;
    idle_.cancel();
    std::size_t number = 0;
    try {
        number = co_await pages_->open(std::move(ticket));
    } catch (...) {
        page_closed();
        throw;
    }
    const auto close = [self, number](browser_page*) {
        self->pages_->close(number);
        self->page_closed();
    };
    co_return std::shared_ptr<browser_page>(pages_->page(number), close);
}

void browser::instance::page_closed()
{
    if (--open_ == 0) rest();
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
    pages_->stop();
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
    pages_->stop();
    connection_->close("the browser was stopped");
    process_.kill();
    idle_.cancel();
    tasks_.cancel_all();
}

browser_state browser::instance::state() const
{
    return {usable(), process_.own_sandbox(), version_, open_, process_.pid()};
}

browser::browser(asio::any_io_executor executor, browser_options options)
    : executor_(executor), options_(std::move(options))
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
    starting_ = true;
    const std::shared_ptr<void> mark(nullptr, [this](void*) {
        starting_ = false;
        started_.notify();
    });
    current_.reset();
    auto launched = co_await instance::start(executor_, options_);
    current_ = launched;
    co_return launched;
}

awaitable<std::shared_ptr<browser_page>> browser::open(std::shared_ptr<egress_ticket> ticket)
{
    // The browser may have ended between two calls, so only a second failure reaches the caller.
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
