#include "async/uncancelled.hpp"
#include "config/settings.hpp"
#include "files/file_error.hpp"
#include "files/trees.hpp"
#include "log/log.hpp"
#include "sealing/bad_snapshot.hpp"
#include "vault/vault_turn.hpp"

#include <system_error>

namespace cmcp {

// The part of sandbox_vault about callers' workspaces, and what is another step for them than for sandboxes.

namespace fs = std::filesystem;

namespace {

// Outputs that results name stay with their server.
void leave_outputs(const sandbox_paths& places, const fs::path& copy)
{
    std::error_code none;
    const auto outputs = copy / workspaces::outputs_folder;
    if (fs::exists(fs::symlink_status(outputs, none))) places.remove(outputs);
}

}  // namespace

std::vector<sandbox_record> sandbox_vault::all_here() const
{
    auto all = sandboxes_.store().all();
    auto of_callers = workspaces_.all();
    all.insert(all.end(), of_callers.begin(), of_callers.end());
    return all;
}

std::optional<sandbox_record> sandbox_vault::find_here(const std::string& id) const
{
    return stored_workspaces::has(id) ? workspaces_.find(id) : sandboxes_.store().find_of_any(id);
}

bool sandbox_vault::is_busy(const std::string& id) const
{
    return stored_workspaces::has(id) ? workspaces_.is_busy(id) : sandboxes_.is_busy(id);
}

fs::path sandbox_vault::folder_of(const std::string& id) const
{
    return stored_workspaces::has(id) ? workspaces_.place_of(id).folder : sandboxes_.places().folder(id);
}

void sandbox_vault::tell_next(const std::string& id, std::string sentence)
{
    if (stored_workspaces::has(id))
        workspaces_.tell_next(id, std::move(sentence));
    else
        sandboxes_.cells().tell_next(id, std::move(sentence));
}

awaitable<fs::path> sandbox_vault::copy_of(sandbox_record record)
{
    if (stored_workspaces::has(record.id)) co_return co_await copy_of_workspace(std::move(record));
    auto copy = co_await kernels_.copy_aside(std::move(record));
    co_return std::move(copy.folder);
}

awaitable<fs::path> sandbox_vault::copy_of_workspace(sandbox_record record)
{
    const auto passing = co_await make_passing();
    std::string problem;
    try {
        const auto place = workspaces_.place_of(record.id);
        auto make = [place] { place.make(); };
        co_await pool_.run(blocking_pool::server, std::move(make));
        auto copy = copy_tree(place.workspace(), passing);
        co_await pool_.run_long(record.owner, std::move(copy));
        auto leave = [places = sandboxes_.places(), passing] { leave_outputs(places, passing); };
        co_await pool_.run(record.owner, std::move(leave));
    } catch (const boost::system::system_error&) {
        throw;
    } catch (const std::system_error& failure) {
        problem = failure.what();
    }
    if (problem.empty()) co_return passing;
    sandboxes_.remove_soon(record.owner, passing);
    throw sandbox_error("SandboxError", "The workspace could not be copied: " + problem + ".");
}

awaitable<> sandbox_vault::set_aside(sandbox_record lost)
{
    co_await workspaces_.give_up(lost.id);
    auto move = [place = workspaces_.place_of(lost.id), aside = sandboxes_.places()] { place.set_aside(aside); };
    co_await pool_.run(lost.owner, std::move(move));
}

std::string sandbox_vault::workspace_of(const std::string& principal) { return workspaces_.handle_of(principal); }

bool sandbox_vault::has_workspace_of(const std::string& principal)
{
    const auto handle = workspaces_.handle_of(principal);
    return is_here(handle) && claims_.contains(handle);
}

std::vector<std::string> sandbox_vault::workspaces_here()
{
    std::vector<std::string> ids;
    for (auto& each : workspaces_.all()) ids.push_back(std::move(each.id));
    return ids;
}

// Those of an earlier life. After a crash there may be more in them than is kept.
awaitable<> sandbox_vault::read_workspaces()
{
    auto read = [this] { return workspaces_.read_all(); };
    const auto all = co_await pool_.run(blocking_pool::server, std::move(read));
    for (const auto& each : all) {
        const auto handle = workspaces_.handle_of(each.owner);
        const bool is_changed = each.used < 0 || workspaces_.place_of(handle).is_marked();
        workspaces_.add(handle, is_changed ? sandbox_manager::now() : each.used);
        claims_.try_emplace(handle, sandbox_claim{each.epoch, sandboxes_.handles().node()});
    }
}

// Workspaces with files from before they were kept. Those of other servers are left alone, wherever old files lie.
awaitable<> sandbox_vault::adopt_workspaces()
{
    if (adopted_) co_return;
    auto read = [this] { return workspaces_.never_kept(); };
    const auto names = co_await pool_.run(blocking_pool::server, std::move(read));
    for (const auto& each : names) {
        bool is_home = !is_home_;
        if (!is_home) is_home = co_await is_home_(each);
        if (is_home) co_await adopt(workspaces_.handle_of(each));
    }
    adopted_ = true;
}

awaitable<> sandbox_vault::adopt(std::string handle)
{
    const turn mine = co_await turn::take(turns_, handle);
    if (workspaces_.find(handle)) co_return;
    std::string problem;
    try {
        co_await claim_workspace(handle);
    } catch (const sandbox_error& failure) {
        problem = failure.what();
    }
    if (!problem.empty()) log::warning("workspace_not_adopted", {{"workspace", handle}, {"reason", problem}});
}

awaitable<> sandbox_vault::begin_here(std::string handle, stored_state state)
{
    auto write = [place = workspaces_.place_of(handle), state] {
        place.make();
        if (state.epoch != 0) write_kept(place.folder, state);
    };
    co_await pool_.run(blocking_pool::server, std::move(write));
    known_[handle] = std::move(state);
    workspaces_.add(handle, sandbox_manager::now());
}

// False: the caller has not named it yet.
awaitable<bool> sandbox_vault::begins_empty(std::string handle, std::uint64_t epoch)
{
    const auto* principal = stored_workspaces::has(handle) ? workspaces_.principal_of(handle) : nullptr;
    if (principal == nullptr) co_return false;
    stored_state state{.epoch = epoch, .owner = *principal};
    auto work = begin_here(handle, std::move(state));
    co_await uncancelled(std::move(work));
    if (epoch > 1)
        workspaces_.tell_next(handle,
                              "The server that had the workspace is gone, and none of its files had been kept.");
    co_return true;
}

// Of this server, and not known to this process: another one of the same folder has it, or it comes from a backup. One
// that was at other servers meanwhile has its newest files in the storage.
awaitable<bool> sandbox_vault::begins_with_files(std::string handle, std::uint64_t epoch)
{
    const auto* principal = stored_workspaces::has(handle) ? workspaces_.principal_of(handle) : nullptr;
    if (principal == nullptr) co_return false;
    auto read = [place = workspaces_.place_of(handle)] {
        return std::pair(read_kept(place.folder), workspaces::has_files(place.workspace()));
    };
    auto seen = co_await pool_.run(blocking_pool::server, std::move(read));
    auto& state = seen.first;
    const bool is_known = state.epoch == epoch;
    if (!is_known && !(epoch == 1 && seen.second)) co_return false;
    if (!is_known) state = stored_state{.epoch = epoch, .owner = *principal};
    auto work = begin_here(std::move(handle), std::move(state));
    co_await uncancelled(std::move(work));
    co_return true;
}

// Used while the storage was away, and kept before: what was lost with the disk comes back, and later files go aside.
awaitable<bool> sandbox_vault::brings_back(sandbox_record record, std::uint64_t epoch)
{
    auto manifest = co_await bucket_.newest(record.id);
    if (!manifest) co_return false;
    if (is_busy(record.id)) co_return true;
    auto work = bring(*std::move(manifest), epoch);
    co_await uncancelled(std::move(work));
    co_return true;
}

bool sandbox_vault::may_begin_unclaimed(const std::string& handle) const
{
    return !claims_.contains(handle) && (read_claims_ || config_.cluster_members.empty());
}

awaitable<> sandbox_vault::claim_workspace(std::string handle)
{
    const auto& own = sandboxes_.handles().node();
    auto owner = co_await bucket_.owner_of(handle);
    sandbox_claim first{1, own};
    const bool is_free = owner.epoch == 0;
    if (is_free) owner = co_await claim_or_owner(handle, std::move(first));
    claims_[handle] = owner;
    if (owner.node != own)
        throw sandbox_error("NodeUnreachable",
                            "The workspace is at the server " + owner.node + ". Call again in a moment.");
    if (is_free)
        co_await begins_empty(std::move(handle), owner.epoch);
    else
        co_await bring_newest(std::move(handle), owner.epoch);
}

// The first call for it since this server has it.
awaitable<> sandbox_vault::begin_workspace(std::string handle)
{
    const turn mine = co_await turn::take(turns_, handle);
    if (workspaces_.find(handle)) co_return;
    sandbox_record wanted;
    wanted.id = handle;
    refuse_where_unsure(wanted);
    std::string problem;
    if (away_ && may_begin_unclaimed(handle)) problem = "The storage was away a moment ago.";
    try {
        if (problem.empty()) co_await claim_workspace(handle);
    } catch (const object_store_error& failure) {
        problem = failure.what();
    } catch (const snapshots::bad_snapshot& failure) {
        throw sandbox_error("SnapshotStoreError", failure.what());
    }
    if (problem.empty()) co_return;
    if (!may_begin_unclaimed(handle))
        throw sandbox_error("SnapshotStoreError",
                            "The workspace may be at another server, and the storage of snapshots, "
                            "which knows, does not answer (" +
                                problem + "). Call again in a few seconds.");
    stored_state nothing;
    co_await begin_here(std::move(handle), std::move(nothing));
}

awaitable<std::shared_ptr<workspace_use>> sandbox_vault::enter(std::string principal)
{
    const auto handle = workspaces_.handle_of(principal);
    std::shared_ptr<workspace_use> use;
    std::optional<workspace_refusal> refused;
    try {
        if (!workspaces_.find(handle)) co_await begin_workspace(handle);
        sandbox_record wanted;
        wanted.id = handle;
        refuse_where_unsure(wanted);
        if (!workspaces_.find(handle))
            throw sandbox_error("NodeUnreachable", "The workspace is at another server now. Call again in a moment.");
        use = workspaces_.enter(handle);
    } catch (const sandbox_error& why) {
        refused.emplace(why.type, why.what());
    } catch (const boost::system::system_error&) {
        throw;
    } catch (const std::system_error& failure) {
        refused.emplace("SandboxError", std::string("The workspace cannot be used: ") + failure.what() + ".");
    }
    if (refused) throw workspace_refusal(*refused);
    co_return use;
}

}  // namespace cmcp
