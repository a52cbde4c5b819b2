#pragma once

#include "async/event.hpp"
#include "async/task_group.hpp"
#include "web/browser.hpp"
#include "web/browser_process.hpp"
#include "web/devtools_connection.hpp"

#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp {

/// One run of the browser, from its start to its end. Each page has a proxy port of its own: who connects there is
/// known.
class browser::instance : public std::enable_shared_from_this<instance> {
public:
    /// Starts it and waits until it answers. Throws browser_unavailable.
    static awaitable<std::shared_ptr<instance>> start(asio::any_io_executor executor, browser_options chosen,
                                                      way_out serve);

    instance(asio::any_io_executor executor, browser_options chosen, way_out serve);
    ~instance();

    bool usable() const { return !retired_ && connection_->open(); }
    awaitable<std::shared_ptr<browser_page>> open(std::shared_ptr<egress_ticket> ticket);
    void kill();
    awaitable<> stop();

    browser_state state() const;

private:
    // A proxy port, and the page that goes out through it.
    struct slot {
        std::uint16_t port = 0;
        bool taken = false;
        std::shared_ptr<egress_ticket> ticket;  // empty: what comes in is dropped
        std::string context;
        std::string session;  // of its page; empty: the page is not there yet
        std::string target;
        std::unique_ptr<browser_page> page;
    };

    awaitable<> launch();
    static awaitable<> read(std::shared_ptr<instance> self);
    static awaitable<> watch(std::shared_ptr<instance> self);
    static awaitable<> accept(std::shared_ptr<instance> self, asio::ip::tcp::acceptor listener, std::size_t number);
    void hear(const std::string& method, const json::object& params);
    awaitable<std::size_t> take_spare();
    awaitable<std::size_t> take_slot();
    awaitable<> make_page(std::size_t number);
    std::shared_ptr<browser_page> lease(std::size_t number);
    void give_back(std::size_t number);
    static awaitable<> clear(std::shared_ptr<instance> self, std::size_t number);
    static awaitable<> make_spare(std::shared_ptr<instance> self);
    awaitable<> dispose(std::size_t number);
    void rest();
    void retire();
    static awaitable<> end(std::shared_ptr<instance> self);

    asio::any_io_executor executor_;
    browser_options options_;
    way_out serve_;
    browser_process process_;
    std::shared_ptr<devtools_connection> connection_;
    std::vector<slot> slots_;
    std::optional<std::size_t> spare_;  // a slot whose page is ready and waits for its caller
    event freed_;
    event attached_;
    asio::steady_timer idle_;
    std::string version_;
    std::size_t open_ = 0;
    std::size_t served_ = 0;
    bool retired_ = false;
    task_group tasks_;  // last: its children use the others
};

}  // namespace cmcp
