#include "e2b/leases.hpp"

#include "sandboxes/sandbox_manager.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

namespace cmcp::e2b {

namespace {

constexpr double longest_wait = 60;  // seconds
constexpr std::chrono::seconds leases_ending_limit(5);

}  // namespace

void leases::start() { tasks_.spawn("leases of sandboxes", look_after()); }

awaitable<> leases::stop()
{
    tasks_.cancel_all();
    co_await tasks_.wait_idle(leases_ending_limit);
}

void leases::set(const std::string& id, double end)
{
    ends_[id] = end;
    changed_.notify();
}

void leases::forget(const std::string& id)
{
    ends_.erase(id);
    changed_.notify();
}

awaitable<> leases::look_after()
{
    for (;;) {
        double next = sandbox_manager::now() + longest_wait;
        for (const auto& [id, end] : ends_) next = std::min(next, end);
        const std::chrono::duration<double> left(std::max(0.0, next - sandbox_manager::now()));
        const auto until = event::clock::now() + std::chrono::duration_cast<event::clock::duration>(left);
        co_await changed_.wait(until);
        std::vector<std::string> over;
        for (const auto& [id, end] : ends_)
            if (end <= sandbox_manager::now()) over.push_back(id);
        for (const auto& id : over) {
            ends_.erase(id);
            tasks_.spawn("end of a lease", over_(id));
        }
    }
}

}  // namespace cmcp::e2b
