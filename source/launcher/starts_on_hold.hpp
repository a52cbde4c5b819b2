#pragma once

#include "launcher/workspace_ledger.hpp"
#include "wire/launcher_protocol.hpp"

#include <cstdint>
#include <deque>
#include <vector>

namespace cmcp::sandbox {

/// Starts that wait until their workspace has been counted.
class starts_on_hold {
public:
    struct start {
        start_message wanted;
        std::vector<unique_fd> descriptors;
    };

    explicit starts_on_hold(workspace_ledger& workspaces) : workspaces_(workspaces) {}

    bool must_wait(const start_message& wanted);
    void add(start waiting) { waiting_.push_back(std::move(waiting)); }
    bool cancel(std::uint64_t id);   ///< true: it was here, and is not any more
    std::deque<start> take_ready();  ///< a count has ended: those that need not wait any more, in their order

private:
    workspace_ledger& workspaces_;
    std::deque<start> waiting_;
};

}  // namespace cmcp::sandbox
