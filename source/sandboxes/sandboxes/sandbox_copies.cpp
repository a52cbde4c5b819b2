#include "async/uncancelled.hpp"
#include "files/trees.hpp"
#include "log/log.hpp"
#include "sandboxes/sandbox_manager.hpp"
#include "sandboxes/sandbox_services.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

namespace cmcp {

namespace fs = std::filesystem;

namespace {

// The exchange is one step, so a crash leaves the old files or the new ones.
void swap_folders(const fs::path& one, const fs::path& other)
{
    if (::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) != 0)
        throw sandbox_error("SandboxError",
                            std::string("The files could not be replaced: ") + std::strerror(errno) + ".");
}

[[noreturn]] void no_snapshot(const std::string& name)
{
    throw sandbox_error("NotFound",
                        "The sandbox has no snapshot \"" + name.substr(0, 100) + "\"; list_snapshots shows them.");
}

}  // namespace

// The part of sandbox_manager that copies sandboxes: forks, snapshots, restores.

// All or nothing: a copy that could not be finished, or is larger than the quota leaves room for, is removed.
awaitable<std::uint64_t> sandbox_manager::copy_or_clear(reservations::share& disk, fs::path from, fs::path to)
{
    std::optional<sandbox_error> refused;
    try {
        auto prepare = [to] { make_private_folder(to); };
        co_await pool_.run(disk.owner(), std::move(prepare));
        auto copy = copy_tree(std::move(from), to);
        const auto bytes = co_await pool_.run_long(disk.owner(), std::move(copy));
        extend(disk, bytes);
        co_return bytes;
    } catch (const std::system_error& failure) {
        refused.emplace("SandboxError", std::string("The files could not be copied: ") + failure.what() + ".");
    } catch (const sandbox_error& too_large) {
        refused = too_large;
    }
    co_await clear(disk.owner(), std::move(to));
    throw sandbox_error(*refused);
}

awaitable<sandbox_record> sandbox_manager::copy_into(sandbox_record record, reservations::share counted,
                                                     sandbox_record from, reservations::share disk)
{
    auto prepare = [places = places_, to = record] { places.make(to); };
    co_await pool_.run(record.owner, std::move(prepare));
    record.disk = co_await copy_or_clear(disk, places_.files(from), places_.files(record));
    record = co_await make(std::move(record), std::move(counted));
    store_.set_packages(record.id, store_.packages(from.id));
    co_return record;
}

awaitable<sandbox_record> sandbox_manager::fork(caller who, std::string id_or_name, std::string name)
{
    const auto from = find(who, id_or_name);
    const auto busy = enter(from);
    new_sandbox wanted{std::move(name), from.image};
    wanted.machine = from.machine;
    wanted.user = from.user;
    std::shared_ptr<void> turn;
    if (before_making_) turn = co_await before_making_(who.principal, wanted.name);
    auto record = describe(who, wanted);
    record.network = from.network;
    record.labels = from.labels;
    record.lease = from.lease;
    auto services = services_in(from);
    for (auto& each : services) each.job.clear();
    record.services = services_text(services);
    if (record.lease.ends != 0) record.lease.ends = record.created + record.lease.length;
    auto disk = reserve(record, from.disk);
    auto counted = being_made_.take(record.owner, 1);
    auto work = copy_into(std::move(record), std::move(counted), from, std::move(disk));
    record = co_await uncancelled(std::move(work));
    log::info("sandbox_forked",
              {{"principal", log::unless_empty(record.owner)}, {"sandbox", record.id}, {"from", from.id}});
    leases_.look();
    enter(record);  // its services start
    co_return record;
}

awaitable<snapshot_record> sandbox_manager::keep_copy(snapshot_record record, sandbox_record of,
                                                      reservations::share disk)
{
    auto prepare = [folder = places_.folder(record.sandbox) / "snapshots"] { make_private_folder(folder); };
    co_await pool_.run(record.owner, std::move(prepare));
    const fs::path kept = places_.snapshot(record.sandbox, record.id);
    record.disk = co_await copy_or_clear(disk, places_.files(of), kept);
    std::function<void()> insert = [this, &record] { store_.insert(record); };
    auto taken = "The sandbox has a snapshot named \"" + record.name + "\" already; choose another name.";
    co_await insert_or_remove(std::move(insert), record.owner, kept, std::move(taken));
    co_return record;
}

awaitable<snapshot_record> sandbox_manager::snapshot(caller who, std::string id_or_name, std::string name)
{
    const auto from = find(who, id_or_name);
    const auto busy = enter(from);
    snapshot_record record{handles_.make("snp"), from.owner, from.id, std::move(name), now(), 0};
    if (record.name.empty()) record.name = "snapshot-" + record.id.substr(record.id.size() - 8);
    check_name(record.name);
    auto disk = reserve_for(record.owner, from.disk);
    auto work = keep_copy(std::move(record), from, std::move(disk));
    auto kept = co_await uncancelled(std::move(work));
    co_return kept;
}

// Runs in the sandbox end first, because they would go on in the folder that is removed.
awaitable<> sandbox_manager::put_back(sandbox_record into, std::string snapshot, reservations::share disk)
{
    const activities_reopened at_end{activities_, into.id};
    const auto& id = into.id;
    co_await activities_.end_all(id);
    co_await stop_all(into);
    const fs::path fresh = places_.folder(id) / "restored";
    co_await clear(into.owner, fresh);
    const auto bytes = co_await copy_or_clear(disk, places_.snapshot(id, snapshot), fresh);
    auto replace = [fresh, files = places_.files(into)] { swap_folders(fresh, files); };
    co_await pool_.run(into.owner, std::move(replace));
    store_.set_disk(id, bytes);
    co_await clear(into.owner, fresh);
    store_.touch(id, now());
}

awaitable<snapshot_record> sandbox_manager::restore(caller who, std::string id_or_name, std::string snapshot)
{
    const auto into = find(who, id_or_name);
    const auto kept = store_.find_snapshot(into.id, snapshot);
    if (!kept) no_snapshot(snapshot);
    auto disk = reserve(into, kept->disk);
    auto work = put_back(into, kept->id, std::move(disk));
    co_await uncancelled(std::move(work));
    co_return *kept;
}

awaitable<fs::path> sandbox_manager::copy_aside(sandbox_record of, std::function<void()> afterwards)
{
    const auto busy = activities_.begin(of.id);
    auto prepare = [places = places_] { return places.make_passing(); };
    const auto passing = co_await pool_.run(of.owner, std::move(prepare));
    std::optional<sandbox_error> refused;
    try {
        auto copy = copy_tree(places_.files(of), passing);
        co_await pool_.run_long(of.owner, std::move(copy));
    } catch (const std::system_error& failure) {
        refused.emplace("SandboxError", std::string("The files could not be copied: ") + failure.what() + ".");
    }
    co_await pool_.run(of.owner, std::move(afterwards));
    if (!refused) co_return passing;
    co_await erase(of.owner, passing);
    throw sandbox_error(*refused);
}

std::vector<snapshot_record> sandbox_manager::snapshots(const caller& who, const std::string& id_or_name)
{
    return store_.snapshots(find(who, id_or_name).id);
}

awaitable<> sandbox_manager::remove_snapshot(caller who, std::string id_or_name, std::string snapshot)
{
    const auto of = find(who, id_or_name);
    const auto kept = store_.find_snapshot(of.id, snapshot);
    if (!kept) no_snapshot(snapshot);
    store_.remove_snapshot(kept->id);
    auto work = clear(of.owner, places_.snapshot(of.id, kept->id));
    co_await uncancelled(std::move(work));
}

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
