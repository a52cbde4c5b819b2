#include "app/holdings.hpp"

#include "app/managers.hpp"
#include "prebuilt/version.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <set>

namespace cmcp {

namespace {

constexpr std::uint64_t mebibyte = 1 << 20;

void put(json::object& row, std::string_view name, std::uint64_t count)
{
    if (count != 0) row[name] = count;
}

template <class Row>
std::uint64_t count_of(const std::vector<Row>& rows, const std::string& principal)
{
    return static_cast<std::uint64_t>(
        std::ranges::count_if(rows, [&principal](const Row& each) { return each.owner == principal; }));
}

std::uint64_t jobs_of(const job_register& all, const std::string& principal)
{
    const auto running = all.running();
    return static_cast<std::uint64_t>(std::ranges::count_if(running, [&principal](const auto& each) {
        return each->record().keep == 0 && each->record().owner == principal;
    }));
}

std::uint64_t tasks_of(job_register& all, const std::string& principal)
{
    for (const auto& each : all.tasks())
        if (each.owner == principal) return each.count;
    return 0;
}

// The default sandbox counts neither in the quota nor as the latest.
void put_sandboxes(json::object& row, const managers& all, const std::string& principal)
{
    const auto own = all.sandboxes->store().list(principal);
    const auto newest = std::ranges::find_if_not(own.rbegin(), own.rend(), &sandbox_record::is_default);
    put(row, "sandboxes", all.sandboxes->store().count(principal));
    put(row, "disk", (all.sandboxes->store().disk(principal) + mebibyte - 1) / mebibyte);
    if (all.kernels) put(row, "kernels", count_of(all.kernels->list(), principal));
    if (all.shells)
        put(row, "shells",
            count_of(all.shells->list(0), principal) + count_of(all.command_shells_->living(), principal));
    if (own.empty()) return;
    json::array& names = row["names"].emplace_array();
    for (const auto& each : own) names.emplace_back(each.name);
    if (newest != own.rend()) row["latest"] = newest->created;
}

// In steps, because the other servers are told of each change.
std::uint64_t in_steps(std::uint64_t available, std::uint64_t of)
{
    const auto step = of / 128 + 1;
    return available / step * step;
}

void put_memory(json::object& row)
{
    std::ifstream facts("/proc/meminfo");
    std::string name, unit;
    std::uint64_t kibibytes = 0, all = 0;
    while (facts >> name >> kibibytes) {
        if (name == "MemTotal:") row["memory"] = all = kibibytes * 1024;
        if (name == "MemAvailable:") row["memory_available"] = in_steps(kibibytes * 1024, all);
        std::getline(facts, unit);
    }
}

void put_disk(json::object& row, const std::filesystem::path& root)
{
    struct statvfs room {};
    if (::statvfs(root.c_str(), &room) != 0) return;
    row["disk"] = room.f_blocks * room.f_frsize;
    row["disk_available"] = in_steps(room.f_bavail * room.f_frsize, room.f_blocks * room.f_frsize);
}

// All servers hear them every two seconds; one whose image is not named is asked for it as if it were not there.
void put_images(json::object& row, const std::vector<std::string>& names)
{
    constexpr std::size_t most = 64;
    if (names.empty()) return;
    json::array& images = row["images"].emplace_array();
    for (std::size_t i = 0; i != std::min(most, names.size()); ++i) images.emplace_back(names[i]);
}

}  // namespace

json::object holdings_of(const managers& all, const std::string& principal)
{
    json::object row;
    put(row, "jobs", jobs_of(*all.background, principal));
    put(row, "tasks", tasks_of(*all.background, principal));
    if (all.sandboxes->homes().is_used(principal)) row["home"] = true;
    if (all.vault && all.vault->has_default_of(principal)) row["claimed"] = true;
    put_sandboxes(row, all, principal);
    if (all.background->has_any(principal)) row["listed"] = true;  // also where all of them have ended
    return row;
}

std::set<std::string> listed_owners(const managers& all)
{
    std::set<std::string> names;
    for (auto& each : all.background->owners()) names.insert(std::move(each));
    for (const auto& each : all.sandboxes->store().totals()) names.insert(each.owner);
    return names;
}

std::vector<std::string> holders(const managers& all)
{
    auto names = listed_owners(all);
    for (auto& each : all.sandboxes->homes().principals()) names.insert(std::move(each));
    return {names.begin(), names.end()};
}

json::object load_of(const managers& all, bool drains)
{
    static const auto began = std::time(nullptr);
    json::object row;
    row["version"] = CMCP_VERSION;
    row["since"] = began;
    row["runs"] = all.admission->running();
    row["max_runs"] = all.admission->most();
    row["runs_waiting"] = all.admission->waiting();
    row["jobs"] = all.background->running().size();
    row["sandboxes"] = all.sandboxes->store().count({.of_all = true});
    row["homes"] = all.sandboxes->homes().count();
    put_images(row, all.sandboxes->images().there());
    if (drains) row["drains"] = true;
    put_memory(row);
    put_disk(row, all.sandboxes->homes().root());
    return row;
}

}  // namespace cmcp
