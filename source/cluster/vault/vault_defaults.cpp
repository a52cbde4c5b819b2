#include "async/uncancelled.hpp"
#include "log/log.hpp"
#include "sealing/bad_snapshot.hpp"
#include "text/handles.hpp"
#include "vault/sandbox_vault.hpp"

#include <system_error>

namespace cmcp {

// The part of sandbox_vault about default sandboxes: a caller has one, under a handle that each server makes of the
// caller's name in the same way. No server is named in it, so it is claimed with its first use.

namespace fs = std::filesystem;

namespace {

constexpr std::string_view home_node = "home";
constexpr std::size_t handle_digits = 32;

std::string home_of(const sandbox_manager& sandboxes, const std::string& principal)
{
    caller who;
    who.principal = principal;
    return sandboxes.homes().of(who);
}

}  // namespace

bool sandbox_vault::is_default(std::string_view handle)
{
    return handle_maker::fits("sbx", handle) && handle_maker::node_of(handle) == home_node;
}

std::string sandbox_vault::default_of(const std::string& principal)
{
    auto handle = "sbx_" + std::string(home_node) + "_" +
                  bucket_.sealer().id_of("default sandbox of " + principal).substr(0, handle_digits);
    principals_.try_emplace(handle, principal);
    return handle;
}

const std::string* sandbox_vault::principal_of(const std::string& handle) const
{
    const auto at = principals_.find(handle);
    return at == principals_.end() ? nullptr : &at->second;
}

bool sandbox_vault::has_default_of(const std::string& principal)
{
    const auto handle = default_of(principal);
    return is_here(handle) && claims_.contains(handle);
}

// Those from before sandboxes were kept have other handles.
awaitable<> sandbox_vault::name_defaults()
{
    for (const auto& each : sandboxes_.store().all()) {
        if (!each.is_default() || each.passing || sandbox_homes::is_of_session(each.home)) continue;
        const auto handle = default_of(each.owner);
        if (each.id == handle) continue;
        auto rename = [this, each, handle] { sandboxes_.rename(each, handle); };
        co_await pool_.run(blocking_pool::server, std::move(rename));
    }
}

// Files from before there were records of default sandboxes. Those of other servers are left alone, wherever old files
// lie.
awaitable<> sandbox_vault::adopt_defaults()
{
    if (adopted_) co_return;
    auto look = [&homes = sandboxes_.homes()] {
        auto names = homes.principals();
        std::erase_if(names, [&](const auto& each) { return !homes.is_used(each); });
        return names;
    };
    const auto names = co_await pool_.run(blocking_pool::server, std::move(look));
    for (const auto& each : names) {
        const auto handle = default_of(each);
        bool is_home = !find_here(handle) && !is_home_;
        if (is_home_ && !find_here(handle)) is_home = co_await is_home_(each);
        if (is_home) co_await adopt(handle);
    }
    adopted_ = true;
}

awaitable<> sandbox_vault::adopt(std::string handle)
{
    const auto mine = co_await turns_.take(handle);
    if (find_here(handle)) co_return;
    std::string problem;
    try {
        co_await claim_default(handle);
    } catch (const sandbox_error& failure) {
        problem = failure.what();
    } catch (const owners_away& failure) {
        problem = failure.what();
    }
    if (!problem.empty()) log::warning("sandbox_not_adopted", {{"sandbox", handle}, {"reason", problem}});
}

awaitable<> sandbox_vault::begin_here(std::string handle, std::string principal, stored_state state)
{
    auto record = sandboxes_.new_default(handle, principal, home_of(sandboxes_, principal));
    auto write = [places = sandboxes_.places(), record, state] {
        places.make(record);
        if (state.epoch != 0) write_kept(places.folder(record.id), state);
    };
    co_await pool_.run(blocking_pool::server, std::move(write));
    known_[handle] = std::move(state);
    if (!find_here(handle)) sandboxes_.store().insert(record);
    sandboxes_.measure_soon(record);
}

// False: the caller has not named it yet.
awaitable<bool> sandbox_vault::begins_empty(std::string handle, std::uint64_t epoch)
{
    const auto* principal = principal_of(handle);
    if (principal == nullptr) co_return false;
    auto work = begin_here(handle, *principal, stored_state{.epoch = epoch});
    co_await uncancelled(std::move(work));
    if (epoch > 1) tell_next(handle, "The server that had the sandbox is gone, and none of its files had been kept.");
    co_return true;
}

// Files of this server from before there was a record of them. Those that were at other servers meanwhile are the
// newest in the storage.
awaitable<bool> sandbox_vault::begins_with_files(std::string handle, std::uint64_t epoch)
{
    const auto* principal = principal_of(handle);
    if (principal == nullptr || epoch != 1) co_return false;
    auto look = [folder = sandboxes_.homes().root() / home_of(sandboxes_, *principal)] {
        return sandbox_homes::has_files(folder);
    };
    const bool has_files = co_await pool_.run(blocking_pool::server, std::move(look));
    if (!has_files) co_return false;
    auto work = begin_here(std::move(handle), *principal, stored_state{.epoch = epoch});
    co_await uncancelled(std::move(work));
    co_return true;
}

// Used while the storage was away, and kept before: what was lost with the disk comes back, and later files go aside.
awaitable<bool> sandbox_vault::brings_back(sandbox_record record, std::uint64_t epoch)
{
    auto manifest = co_await bucket_.newest(record.id);
    if (!manifest) co_return false;
    if (sandboxes_.is_busy(record.id)) co_return true;
    auto set_aside = sandboxes_.give_up(record);
    co_await uncancelled(std::move(set_aside));
    auto work = bring(*std::move(manifest), epoch);
    co_await uncancelled(std::move(work));
    co_return true;
}

bool sandbox_vault::may_begin_unclaimed(const std::string& handle) const
{
    return !claims_.contains(handle) && (read_claims_ || is_alone());
}

awaitable<> sandbox_vault::claim_default(std::string handle)
{
    const auto& own = sandboxes_.handles().node();
    if (deleted_.contains(handle)) co_await forget_deleted_one(handle);
    auto owner = co_await owner_of(handle);
    const bool is_free = owner.epoch == 0;
    // etcd may have lost what it had.
    if (is_free && !is_alone()) {
        const auto epoch = co_await bucket_.newest_epoch(handle);
        owner.epoch = epoch.value_or(0);
    }
    const bool is_new = owner.epoch == 0;
    if (is_free) owner = co_await claim_or_owner(handle, own, std::move(owner), false);
    claims_[handle] = owner;
    if (owner.node != own)
        throw sandbox_error("NodeUnreachable",
                            "The default sandbox is at the server " + owner.node + ". Call again in a moment.");
    if (is_new)
        co_await begins_empty(std::move(handle), owner.epoch);
    else
        co_await bring_newest(std::move(handle), owner.epoch);
}

// The first call for it since this server has it.
awaitable<> sandbox_vault::begin_default(std::string handle)
{
    const auto mine = co_await turns_.take(handle);
    if (find_here(handle)) co_return;
    sandbox_record wanted;
    wanted.id = handle;
    refuse_where_unsure(wanted);
    std::string problem;
    if (away_ && may_begin_unclaimed(handle)) problem = "The storage was away a moment ago.";
    try {
        if (problem.empty()) co_await claim_default(handle);
    } catch (const object_store_error& failure) {
        problem = failure.what();
    } catch (const owners_away& failure) {
        throw sandbox_error("NodeCutOff", failure.what());
    } catch (const snapshots::bad_snapshot& failure) {
        throw sandbox_error("SnapshotStoreError", failure.what());
    }
    if (problem.empty()) co_return;
    if (!may_begin_unclaimed(handle))
        throw sandbox_error("SnapshotStoreError",
                            "The default sandbox may be at another server, and the storage of snapshots, "
                            "which knows, does not answer (" +
                                problem + "). Call again in a few seconds.");
    co_await begin_here(handle, *principal_of(handle), stored_state());
}

awaitable<> sandbox_vault::bring_default(std::string principal)
{
    auto handle = default_of(principal);
    std::optional<sandbox_error> refused;
    try {
        co_await begin_default(handle);
    } catch (const boost::system::system_error&) {
        throw;
    } catch (const std::system_error& failure) {
        refused.emplace("SandboxError", std::string("The default sandbox cannot be used: ") + failure.what() + ".");
    }
    if (refused) throw sandbox_error(*refused);
}

}  // namespace cmcp
