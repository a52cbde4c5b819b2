#include "files/trees.hpp"
#include "sandboxes/sandbox_manager.hpp"

#include <algorithm>

namespace cmcp {

// The part of sandbox_manager that keeps sandboxes within the disk of their owner.

void sandbox_manager::check_disk(const std::string& owner, std::uint64_t more)
{
    const std::uint64_t used = store_.disk(owner) + reservations_.of(owner);
    if (used + more <= limits_.of(owner).disk) return;
    auto all = store_.list(owner);
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.disk > b.disk; });
    std::string largest;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, all.size()); ++i)
        largest += (largest.empty() ? "" : ", ") + all[i].name + " " + std::to_string(all[i].disk >> 20) + " MiB";
    throw sandbox_error("QuotaExceeded", "Your sandboxes would take " + std::to_string((used + more) >> 20) +
                                             " MiB of disk, more than " +
                                             limits_.refusal_in_words(owner, &principal_limits::disk) +
                                             " (largest: " + largest + "). Delete files or sandboxes first.");
}

disk_reservations::share sandbox_manager::reserve(const std::string& owner, std::uint64_t bytes)
{
    check_disk(owner, bytes);
    return reservations_.take(owner, bytes);
}

void sandbox_manager::extend(disk_reservations::share& disk, std::uint64_t bytes)
{
    if (bytes <= disk.bytes()) return;
    check_disk(disk.owner(), bytes - disk.bytes());
    disk.resize(bytes);
}

// A large write looks for what others have written, a kernel between its calls among them.
awaitable<> sandbox_manager::check_beside_others(sandbox_record into, std::uint64_t bytes)
{
    const auto measuring = measuring_;
    const bool alone = !activities_.shared(into.id) && !measuring->of.contains(into.id);
    if (alone && bytes <= limits_.of(into.owner).disk / unmeasured_part) co_return;
    measure_soon(into);
    while (measuring->of.contains(into.id)) co_await measuring->ended.wait();
    check_disk(into.owner, 0);
}

void sandbox_manager::measure_soon(const sandbox_record& written, disk_reservations::share disk)
{
    const auto [at, first] = measuring_->of.try_emplace(written.id);
    at->second.written.push_back(std::move(disk));
    at->second.again = !first;
    if (!first) return;
    tasks_.spawn("measure sandbox", measure(written.owner, written.id));
}

awaitable<> sandbox_manager::measure(std::string owner, std::string id)
{
    struct done {
        std::shared_ptr<measurements> all;
        std::string id;
        ~done()
        {
            all->of.erase(id);
            all->ended.notify();
        }
    } at_end{measuring_, id};
    for (bool again = true; again;) {
        auto& begun = at_end.all->of[id];
        begun.again = false;
        const auto covered = std::move(begun.written);
        begun.written.clear();
        auto work = disk_usage(places_.workspace(id));
        const auto bytes = co_await pool_.run_long(owner, std::move(work));
        store_.set_disk(id, bytes);
        again = at_end.all->of[id].again;
    }
}

}  // namespace cmcp
