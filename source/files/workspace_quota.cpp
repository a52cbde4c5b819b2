#include "files/workspace_quota.hpp"

#include "files/file_error.hpp"
#include "files/trees.hpp"

#include <algorithm>

namespace cmcp {

namespace {

// Runs change the workspace, too, so a measurement is soon out of date.
constexpr std::chrono::seconds measurement_lasts(2);

}  // namespace

awaitable<disk_reservations::share> workspace_quota::reserve(std::string principal, std::filesystem::path workspace,
                                                             std::uint64_t bytes)
{
    const auto now = clock::now();
    const std::string key = workspace.string();
    // The bytes are taken first, so writes that begin meanwhile see them.
    auto disk = reservations_.take(key, bytes);
    if (usages_[key].at + measurement_lasts < now) co_await measure(principal, key);
    if (sum(key) > most_ && usages_[key].at < now) co_await measure(principal, key);
    const auto wanted = sum(key);
    if (wanted > most_)
        throw file_error("The workspace would take " + std::to_string(wanted >> 20) + " MiB of disk, more than the " +
                         std::to_string(most_ >> 20) +
                         " MiB of SANDBOX_WORKSPACE_MAX_MB. Delete files first (file_delete, or rm in a run).");
    co_return disk;
}

void workspace_quota::written(disk_reservations::share disk)
{
    if (limited()) usages_[disk.owner()].written += disk.bytes();
}

awaitable<> workspace_quota::measure(std::string principal, std::string workspace)
{
    const auto began = clock::now();
    const auto written = usages_[workspace].written;
    auto work = disk_usage(workspace);
    const auto bytes = co_await pool_.run_long(std::move(principal), std::move(work));
    usage& known = usages_[workspace];
    known.measured = bytes;
    known.written -= std::min(known.written, written);
    known.at = began;
}

std::uint64_t workspace_quota::sum(const std::string& workspace)
{
    const usage& known = usages_[workspace];
    return known.measured + known.written + reservations_.of(workspace);
}

}  // namespace cmcp
