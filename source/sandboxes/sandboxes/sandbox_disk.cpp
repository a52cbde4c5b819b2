#include "files/trees.hpp"
#include "sandboxes/sandbox_manager.hpp"

#include <algorithm>

namespace cmcp {

// The part of sandbox_manager that keeps sandboxes within the disk of their owner.

void sandbox_manager::check_disk(const std::string& owner, std::uint64_t more)
{
    const std::uint64_t used = store_.disk(owner) + disk_reserved_.of(owner);
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

// The default sandbox has a limit of its own beside that of all together.
void sandbox_manager::check_room(const sandbox_record& into, std::uint64_t more)
{
    check_disk(into.owner, more);
    const auto most = limits_.of(into.owner).workspace;
    const auto now = into.is_default() && most != 0 ? store_.find_of_any(into.id) : std::nullopt;
    const std::uint64_t used = now ? now->disk + disk_reserved_.of(into.owner) : 0;
    if (!now || used + more <= most) return;
    throw sandbox_error("QuotaExceeded", "Your default sandbox would take " + std::to_string((used + more) >> 20) +
                                             " MiB of disk, more than the " + std::to_string(most >> 20) +
                                             " MiB that it may hold (SANDBOX_WORKSPACE_MAX_MB, or your quota). Delete "
                                             "files first (file_delete, or rm in a run).");
}

reservations::share sandbox_manager::reserve_for(const std::string& owner, std::uint64_t bytes)
{
    check_disk(owner, bytes);
    return disk_reserved_.take(owner, bytes);
}

reservations::share sandbox_manager::reserve(const sandbox_record& into, std::uint64_t bytes)
{
    check_room(into, bytes);
    return disk_reserved_.take(into.owner, bytes);
}

std::uint64_t sandbox_manager::most_files_of(const sandbox_record& of)
{
    // The owner's other sandboxes leave so much; 0 would mean no limit.
    const std::uint64_t all = store_.disk(of.owner);
    const auto& limits = limits_.of(of.owner);
    const std::uint64_t left = limits.disk - std::min(all - std::min(of.disk, all), limits.disk);
    const bool is_bound = of.is_default() && limits.workspace != 0;
    return std::max<std::uint64_t>(1, is_bound ? std::min(left, limits.workspace) : left);
}

void sandbox_manager::extend(reservations::share& disk, std::uint64_t bytes)
{
    if (bytes <= disk.amount()) return;
    check_disk(disk.owner(), bytes - disk.amount());
    disk.resize(bytes);
}

// A large write looks for what others have written, a kernel between its calls among them.
awaitable<> sandbox_manager::check_beside_others(sandbox_record into, std::uint64_t bytes)
{
    const auto measuring = measuring_;
    const bool alone = !activities_.shared(into.id) && !measuring->of.contains(into.id);
    if (alone && bytes <= most_files_of(into) / unmeasured_part) co_return;
    measure_soon(into);
    while (measuring->of.contains(into.id)) co_await measuring->ended.wait();
    check_room(into, 0);
}

void sandbox_manager::measure_soon(const sandbox_record& written, reservations::share disk)
{
    const auto [at, first] = measuring_->of.try_emplace(written.id);
    at->second.written.push_back(std::move(disk));
    at->second.again = !first;
    if (!first) return;
    tasks_.spawn("measure sandbox", measure(written));
}

awaitable<> sandbox_manager::measure(sandbox_record of)
{
    struct done {
        std::shared_ptr<measurements> all;
        std::string id;
        ~done()
        {
            all->of.erase(id);
            all->ended.notify();
        }
    } at_end{measuring_, of.id};
    const auto& id = of.id;
    for (bool again = true; again;) {
        auto& begun = at_end.all->of[id];
        begun.again = false;
        const auto covered = std::move(begun.written);
        begun.written.clear();
        auto work = disk_usage(places_.files(of));
        const auto bytes = co_await pool_.run_long(of.owner, std::move(work));
        store_.set_disk(id, bytes);
        again = at_end.all->of[id].again;
    }
}

}  // namespace cmcp
