#pragma once

#include "async/event.hpp"
#include "async/task_group.hpp"

#include <functional>
#include <map>
#include <string>

namespace cmcp::e2b {

/// When the leases of sandboxes end. Io thread only.
class leases {
public:
    /// What is done at the end of a lease, beside the others; it tells its failures itself.
    using action = std::function<awaitable<>(std::string id)>;

    leases(const asio::any_io_executor& executor, action over) : over_(std::move(over)), tasks_(executor) {}

    void start();  ///< leases end from now on
    awaitable<> stop();

    void set(const std::string& id, double end);  ///< seconds since 1970
    void forget(const std::string& id);
    bool has(const std::string& id) const { return ends_.contains(id); }

private:
    awaitable<> look_after();

    action over_;
    std::map<std::string, double> ends_;
    event changed_;
    task_group tasks_;
};

}  // namespace cmcp::e2b
