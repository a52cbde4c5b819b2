#pragma once

#include "administration/admin_gateway.hpp"
#include "async/event.hpp"
#include "http/exchange.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <set>

namespace cmcp {

/// The streams of GET /admin/events.
class admin_streams {
public:
    static constexpr std::size_t most = 64;  ///< at once

    /// Ends a stream from outside.
    struct stream {
        event ended;
        bool over = false;
        void end()
        {
            over = true;
            ended.notify();
        }
    };

    std::shared_ptr<stream> open();  ///< null: there are too many
    void end_all();
    std::size_t size() const;

private:
    std::set<std::weak_ptr<stream>, std::owner_less<>> open_;
};

/// The source of a stream.
struct admin_feed {
    admin_gateway& server;
    admin_viewer by;
    /// Whether the stream may go on, and for whom; asked every two seconds. Empty: it may.
    std::function<awaitable<bool>(admin_viewer& by)> admits;
    std::function<admin_connections()> connections;
    std::chrono::milliseconds keep_alive;
};

/// Writes `runs`, `usage` and `health` at once and after changes, `end` and `egress` for each new entry, and `dropped`
/// where entries were missed, until either side ends the stream. It looks at most every 500 ms.
awaitable<> stream_admin_events(exchange& x, std::shared_ptr<admin_streams::stream> own, admin_feed feed);

}  // namespace cmcp
