#pragma once

#include "async/event.hpp"
#include "async/task_group.hpp"
#include "web/browser_page.hpp"
#include "web/devtools_connection.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cmcp {

class egress_ticket;

/// The slots for pages in one browser. Each has a proxy port and a context of its own, so a connection tells by its
/// port which page it belongs to. Number 0 is the browser itself, which has no page. Io thread only.
class page_slots : public std::enable_shared_from_this<page_slots> {
public:
    /// `keeps_spare`: a page is made ready for the next caller. `broken` is called when the browser does not close a
    /// page in time.
    page_slots(std::shared_ptr<devtools_connection> connection, std::size_t count, bool keeps_spare,
               std::function<void()> broken);

    /// Begins to hear which pages the browser makes; to be called once, before open().
    void listen();

    /// Waits for a free slot, makes a page in it and returns its number; to be followed by one close(). Throws
    /// devtools_closed, devtools_error, page_error.
    awaitable<std::size_t> open(std::shared_ptr<egress_ticket> ticket);
    void close(std::size_t number);

    browser_page* page(std::size_t number) const { return slots_[number].page.get(); }

    /// The ticket for connections at the port of that number; null: they are dropped.
    const std::shared_ptr<egress_ticket>& ticket(std::size_t number) const { return slots_[number].ticket; }

    /// Ends what is under way. Nothing is opened afterwards.
    void stop();

private:
    struct slot {
        bool in_use = false;
        std::shared_ptr<egress_ticket> ticket;
        std::string context;
        std::string session;  // of its page; empty: the page is not there yet
        std::string target;
        std::unique_ptr<browser_page> page;
    };

    void attached(const json::object& params);  // Target.attachedToTarget
    bool usable() const { return !stopped_ && connection_->open(); }
    std::size_t take_free();  ///< 0: none is free
    awaitable<std::size_t> wait_for_free();
    awaitable<std::size_t> take_spare();
    awaitable<> make_page(std::size_t number);
    awaitable<> make_spare();
    awaitable<> dispose(std::size_t number);
    static awaitable<> clear(std::shared_ptr<page_slots> self, std::size_t number);
    void set_free(std::size_t number);

    std::shared_ptr<devtools_connection> connection_;
    std::vector<slot> slots_;
    bool keeps_spare_;
    std::size_t spare_ = 0;  // number of the page that waits for its caller; 0: none
    std::function<void()> broken_;
    event freed_;
    event attached_;
    bool stopped_ = false;
    task_group tasks_;  // last: its children use the others
};

}  // namespace cmcp
