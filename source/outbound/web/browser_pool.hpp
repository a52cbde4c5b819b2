#pragma once

#include "async/event.hpp"
#include "web/browser.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp {

/// The browsers that live, each for one principal alone, so that a page that takes over its browser reaches nothing of
/// another principal. A bounded number live; the one that is idle longest ends for another. Io thread only.
class browser_pool {
public:
    browser_pool(asio::any_io_executor executor, browser_options options, std::size_t most);
    browser_pool(const browser_pool&) = delete;
    browser_pool& operator=(const browser_pool&) = delete;

    /// The principal's browser, which does not end for another while a copy of the pointer lives. Waits while the
    /// others are all in use; who waits longest comes first. The pool must outlive the pointer.
    awaitable<std::shared_ptr<browser>> enter(std::string principal);

    /// Starts a browser that nobody has used, for the first principal that comes. Throws browser_unavailable.
    awaitable<> warm_up();

    awaitable<> stop();  ///< open pages fail; the next page starts a browser again

    std::vector<browser_state> states() const;  ///< that used last comes first

private:
    struct entry {
        std::optional<std::string> principal;  ///< nothing: nobody has used it
        std::size_t number = 0;                ///< lowest that was free
        std::shared_ptr<browser> its;
        std::size_t uses = 0;         ///< at this moment
        std::uint64_t used_last = 0;  ///< in the order of uses
    };
    using entry_ptr = std::shared_ptr<entry>;

    entry_ptr find(const std::optional<std::string>& principal) const;
    entry_ptr add(std::optional<std::string> principal);
    entry_ptr take(const std::string& principal);  ///< its own, an unused or a new one; null: there is no room
    entry_ptr longest_idle() const;                ///< null: all are in use
    std::shared_ptr<browser> use(const entry_ptr& which);
    std::size_t free_number() const;

    asio::any_io_executor executor_;
    browser_options options_;
    std::size_t most_;
    std::vector<entry_ptr> entries_;
    std::uint64_t order_ = 0;
    bool entering_ = false;  // somebody looks for a browser; others wait behind
    event changed_;
};

}  // namespace cmcp
