#include "launcher/starts_on_hold.hpp"

#include "jail/setup_step.hpp"
#include "launcher/workspace_watch.hpp"

#include <utility>

namespace cmcp::sandbox {

bool starts_on_hold::must_wait(const start_message& wanted)
try {
    const unique_fd folder = open_bounded_workspace(wanted.request);
    if (!folder) return false;
    return workspaces_.must_wait(workspace_ledger::key_of(folder.get()), folder.get(),
                                 workspace_bounds(wanted.request.limits));
} catch (const step_failed&) {
    return false;  // the start meets the same obstacle and tells it
}

bool starts_on_hold::cancel(std::uint64_t id)
{
    return std::erase_if(waiting_, [id](const start& each) { return each.wanted.id == id; }) != 0;
}

std::deque<starts_on_hold::start> starts_on_hold::take_ready()
{
    std::deque<start> all, ready;
    all.swap(waiting_);
    for (start& each : all) (must_wait(each.wanted) ? waiting_ : ready).push_back(std::move(each));
    return ready;
}

}  // namespace cmcp::sandbox
