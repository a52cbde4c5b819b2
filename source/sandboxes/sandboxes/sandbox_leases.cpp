#include "sandboxes/sandbox_leases.hpp"

#include "async/pause.hpp"
#include "async/uncancelled.hpp"
#include "log/log.hpp"
#include "sandboxes/sandbox_manager.hpp"

#include <algorithm>
#include <chrono>

namespace cmcp {

namespace {

using namespace std::chrono_literals;

constexpr double longest_wait = 60;  // seconds
constexpr auto before_next_try = 60s;
constexpr auto leases_ending_limit = 5s;

}  // namespace

void sandbox_leases::start() { tasks_.spawn("leases of sandboxes", look_after()); }

awaitable<> sandbox_leases::stop()
{
    tasks_.cancel_all();
    co_await tasks_.wait_idle(leases_ending_limit);
}

void sandbox_leases::set(const std::string& id, const sandbox_lease& lease)
{
    of_.store().set_lease(id, lease);
    changed_.notify();
}

awaitable<> sandbox_leases::look_after()
{
    for (;;) {
        const double next = end_those_over();
        const std::chrono::duration<double> left(std::max(0.0, next - sandbox_manager::now()));
        const auto until = event::clock::now() + std::chrono::duration_cast<event::clock::duration>(left);
        co_await changed_.wait(until);
    }
}

// When the next one ends, or it is time to look again.
double sandbox_leases::end_those_over()
{
    const double now = sandbox_manager::now();
    double next = now + longest_wait;
    for (const auto& each : of_.store().with_lease_until(next)) {
        if (ending_.contains(each.id)) continue;
        if (each.lease.ends > now) {
            next = std::min(next, each.lease.ends);
            continue;
        }
        ending_.insert(each.id);
        tasks_.spawn("end of a lease", end(each.id));
    }
    return next;
}

awaitable<> sandbox_leases::end(std::string id)
{
    bool has_failed = false;
    auto where = of_.store().find_of_any(id);
    try {
        if (where) log::info("lease_ended", {{"sandbox", id}, {"deletes", where->lease.deletes}});
        if (where && where->lease.deletes) {
            caller owner;
            owner.principal = where->owner;
            co_await of_.remove(std::move(owner), id);
        } else if (where) {
            sandbox_error why("StateError",
                              "The time that the sandbox was made for is over, so it was paused: its processes ended, "
                              "its files are kept. The next call resumes it.");
            co_await pause(std::move(*where), std::move(why));
        }
    } catch (const sandbox_error& failure) {
        log::warning("lease_not_ended", {{"sandbox", id}, {"error", json::string(failure.what())}});
        has_failed = true;
    }
    if (has_failed) co_await pause_for(before_next_try);
    ending_.erase(id);
    changed_.notify();
}

struct sandbox_leases::mark {
    mark(sandbox_leases& in, std::string id) : in_(in), id_(std::move(id)) { in_.pausing_.insert(id_); }
    mark(const mark&) = delete;
    mark& operator=(const mark&) = delete;
    ~mark()
    {
        in_.pausing_.erase(id_);
        in_.paused_.notify();
    }

private:
    sandbox_leases& in_;
    std::string id_;
};

awaitable<std::vector<std::string>> sandbox_leases::pause(sandbox_record where, sandbox_error why)
{
    const auto id = where.id;
    co_await end_of_pause(id);
    const auto there = of_.store().find_of_any(id);
    std::vector<std::string> lost;
    if (!there || there->is_paused()) co_return lost;
    {
        const mark ending(*this, id);
        auto work = of_.end_for_pause(*there, std::move(why));
        lost = co_await uncancelled(std::move(work));
    }
    if (keep_) co_await keep_(id);
    co_return lost;
}

awaitable<> sandbox_leases::end_of_pause(std::string id)
{
    while (pausing_.contains(id)) co_await paused_.wait();
}

}  // namespace cmcp
