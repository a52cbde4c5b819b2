#include "async/pause.hpp"
#include "async/uncancelled.hpp"
#include "log/log.hpp"
#include "posix/bytes.hpp"
#include "sandboxes/call_records.hpp"
#include "sealing/bad_snapshot.hpp"
#include "snapshots/snapshot_reader.hpp"
#include "snapshots/snapshot_stopped.hpp"
#include "text/time_text.hpp"
#include "vault/sandbox_vault.hpp"

#include <algorithm>

namespace cmcp {

// The part of sandbox_vault that brings sandboxes of servers that are gone.

namespace fs = std::filesystem;

namespace {

constexpr std::size_t downloads_at_once = 6;
constexpr std::chrono::seconds patience_with_owner(8);
constexpr std::chrono::milliseconds before_next_question(200);

void write_file(const fs::path& file, const std::string& bytes)
{
    const unique_fd open(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!open || !write_all(open.get(), bytes)) throw std::system_error(errno, std::generic_category(), file.string());
}

bool is_being_deleted(sandbox_store& store, const std::string& handle)
{
    return std::ranges::count(store.unfinished_deletes(), handle, &sandbox_record::id) != 0;
}

std::string moment(std::int64_t seconds)
{
    return utc_text(static_cast<std::time_t>(seconds), "%Y-%m-%d %H:%M:%S UTC");
}

std::string note_of(const snapshots::snapshot_manifest& manifest, const std::string& own_node)
{
    if (manifest.node == own_node)
        return "The sandbox was brought back as it was kept at " + moment(manifest.taken) +
               ", because what this server had of it was older or lost: later changes are lost, its /tmp is empty, and "
               "what ran in it and its jobs are gone.";
    if (is_released(manifest, manifest.epoch))
        return "The sandbox has moved to another server: its files are all there, its /tmp is empty, and what ran in "
               "it and its jobs are gone.";
    return "The server " + manifest.node +
           " that had the sandbox is gone. It was brought to another one as it was kept at " + moment(manifest.taken) +
           ": later changes are lost, its /tmp is empty, and what ran in it and its jobs are gone.";
}

void read_folder(const snapshots::snapshot_manifest& of, const stored_folder& folder,
                 const snapshots::chunk_sealer& sealer, const fs::path& chunks, const fs::path& into,
                 const std::stop_token& stop)
{
    snapshots::snapshot_manifest part = of;
    part.chunks = folder.chunks;
    part.bytes = folder.bytes;
    make_private_folder(into);
    snapshots::read_snapshot(part, sealer, snapshots::chunks_in(chunks), into, stop);
}

}  // namespace

/// The bucket has no snapshot of the sandbox.
struct sandbox_vault::nothing_kept {};

awaitable<fs::path> sandbox_vault::make_passing()
{
    auto make = [places = sandboxes_.places()] { return places.make_passing(); };
    auto folder = co_await pool_.run(blocking_pool::server, std::move(make));
    co_return folder;
}

awaitable<> sandbox_vault::fetch_file(passing_chunk chunk)
{
    auto sealed = co_await bucket_.chunk(chunk.handle, chunk.epoch, chunk.id);
    auto write = [file = chunk.folder / chunk.id, sealed = std::move(sealed)] { write_file(file, sealed); };
    co_await pool_.run(blocking_pool::server, std::move(write));
}

// The folder has its name before the record is there, so that a crash leaves a folder that the next start removes.
awaitable<> sandbox_vault::make_folders(snapshots::snapshot_manifest manifest, sandbox_record record, fs::path passing,
                                        stored_state state)
{
    const stored_folder files{manifest.chunks, manifest.bytes};
    auto all = snapshots_in(manifest);
    auto read = [manifest, record, files, all, calls = calls_in(manifest), passing, state, places = sandboxes_.places(),
                 sealer = bucket_.sealer(), stop = stop_.get_token()] {
        const auto fresh = passing / "sandbox";
        make_private_folder(fresh);
        read_folder(manifest, files, sealer, passing, fresh / "workspace", stop);
        if (!all.empty()) make_private_folder(fresh / "snapshots");
        for (const auto& [id, folder] : all)
            read_folder(manifest, folder, sealer, passing, fresh / "snapshots" / id, stop);
        if (!calls.chunks.empty())
            read_folder(manifest, calls, sealer, passing, fresh / call_records::folder_name, stop);
        write_kept(fresh, state);
        places.take(record, fresh);
    };
    co_await pool_.run(blocking_pool::server, std::move(read));
}

// The owner may have given the name here meanwhile.
void sandbox_vault::add_record(stored_record record)
{
    auto& about = record.about;
    if (sandboxes_.store().find(about.owner, about.name))
        about.name = about.name.substr(0, 55) + "-" + about.id.substr(about.id.size() - 8);
    sandboxes_.store().insert(about);
    sandboxes_.store().set_packages(about.id, record.packages);
    for (const auto& each : record.snapshots) sandboxes_.store().insert(each);
}

awaitable<> sandbox_vault::bring(snapshots::snapshot_manifest manifest, std::uint64_t epoch)
{
    auto record = record_in(manifest);
    if (is_default(manifest.handle)) {
        if (default_of(record.about.owner) != manifest.handle)
            throw snapshots::bad_snapshot("The manifest of " + manifest.handle + " is of another caller.");
        caller owner;
        owner.principal = record.about.owner;
        record.about.home = sandboxes_.homes().of(owner);
    }
    stored_state stored;
    stored.files.chunks = manifest.chunks;
    stored.snapshots = snapshots_in(manifest);
    stored.calls = calls_in(manifest);
    const auto passing = co_await make_passing();
    std::vector<passing_chunk> all;
    for (auto& id : stored.ids()) all.push_back({passing, manifest.handle, manifest.epoch, std::move(id)});
    auto fetch = [this](passing_chunk chunk) { return fetch_file(std::move(chunk)); };
    const auto failure = co_await pass_chunks(executor_, std::move(all), downloads_at_once, std::move(fetch));
    stored_state state;
    state.epoch = epoch;
    std::string problem;
    try {
        if (failure) std::rethrow_exception(failure);
        co_await make_folders(manifest, record.about, passing, state);
    } catch (const boost::system::system_error&) {
        throw;
    } catch (const std::runtime_error& reason) {
        problem = reason.what();
    }
    sandboxes_.remove_soon(record.about.owner, passing);
    if (!problem.empty()) throw sandbox_error("SnapshotStoreError", "It could not be brought here: " + problem);
    add_record(record);
    known_[manifest.handle] = state;
    tell_next(manifest.handle, note_of(manifest, sandboxes_.handles().node()));
    count("brought");
    log::info("sandbox_brought", {{"sandbox", manifest.handle},
                                  {"from", manifest.node},
                                  {"kept", moment(manifest.taken)},
                                  {"bytes", manifest.bytes}});
}

// A server that was killed stays registered for the rest of its lease. One that is still there may be asked again soon.
awaitable<bool> sandbox_vault::comes_free(std::string node, gone_question is_gone)
{
    const auto until = event::clock::now() + patience_with_owner;
    std::optional<bool> gone;
    do {
        gone = co_await is_gone(node);
    } while (!gone && event::clock::now() < until);
    if (gone.value_or(false)) co_return true;
    co_await pause_for(before_next_question);
    co_return false;
}

// The claim holds only where no server of the owner's name is registered then, so nobody serves the sandbox meanwhile.
// Where a server has what the sandbox needs and this one has not, that one brings it.
awaitable<sandbox_claim> sandbox_vault::take_over(std::string handle, sandbox_claim before)
{
    const auto newest = co_await bucket_.newest(handle);
    if (!newest && !is_default(handle)) throw nothing_kept();
    if (newest) before.epoch = std::max(before.epoch, newest->epoch);  // etcd may have lost what it had
    std::string to;
    if (newest && place_of_) to = place_of_(record_in(*newest).about);
    if (to.empty()) to = sandboxes_.handles().node();
    const bool is_gone = true;
    auto owner = co_await claim_or_owner(std::move(handle), std::move(to), std::move(before), is_gone);
    co_return owner;
}

awaitable<std::string> sandbox_vault::find_in_turn(std::string handle, std::string node, gone_question is_gone)
{
    const auto& own = sandboxes_.handles().node();
    if (find_here(handle)) co_return own;
    auto owner = co_await owner_of(handle);
    if (owner.epoch == 0)
        claims_.erase(handle);  // it was deleted
    else
        claims_[handle] = owner;
    // Its snapshot is there until the bucket has forgotten it.
    if (owner.node == own && (deleted_.contains(handle) || is_being_deleted(sandboxes_.store(), handle)))
        throw nothing_kept();
    if (owner.node != own) {
        if (owner.node != node) co_return owner.node;
        const bool free = co_await comes_free(node, std::move(is_gone));
        if (!free) co_return node;
        owner = co_await take_over(handle, std::move(owner));
        if (owner.node != own) co_return owner.node;
    }
    co_await bring_newest(std::move(handle), owner.epoch);
    co_return own;
}

// A caller always has a default sandbox, so one of which nothing was kept begins anew.
awaitable<> sandbox_vault::bring_newest(std::string handle, std::uint64_t epoch)
{
    const bool is_here = co_await begins_with_files(handle, epoch);
    if (is_here) co_return;
    auto manifest = co_await bucket_.newest(handle);
    if (!manifest) {
        const bool begun = co_await begins_empty(std::move(handle), epoch);
        if (!begun) throw nothing_kept();
        co_return;
    }
    auto work = bring(*std::move(manifest), epoch);
    co_await uncancelled(std::move(work));
}

awaitable<std::string> sandbox_vault::find(std::string handle, std::string node, gone_question is_gone)
{
    const auto mine = co_await turns_.take(handle);
    std::optional<sandbox_error> refused;
    std::string place;
    try {
        place = co_await find_in_turn(std::move(handle), std::move(node), std::move(is_gone));
    } catch (const nothing_kept&) {
        place.clear();
    } catch (const object_store_error& failure) {
        refused.emplace("SnapshotStoreError", failure.what());
    } catch (const owners_away& failure) {
        refused.emplace("NodeCutOff", failure.what());
    } catch (const snapshots::bad_snapshot& failure) {
        refused.emplace("SnapshotStoreError", failure.what());
    }
    if (refused) throw sandbox_error(*refused);
    co_return place;
}

// Sandboxes of this server that are in the bucket, but not here: its disk was lost.
awaitable<> sandbox_vault::bring_lost()
{
    const auto& own = sandboxes_.handles().node();
    const auto all = co_await bucket_.newest_of(own);
    for (const auto& [handle, snapshot] : all) {
        const auto claim = claims_.find(handle);
        if (deleted_.contains(handle) || (claim != claims_.end() && claim->second.node != own)) continue;
        const auto known = known_.find(handle);
        const bool is_older = claim == claims_.end() && known != known_.end() && known->second.epoch < snapshot.epoch;
        if (is_older && !is_alone()) co_await claim_by_storage(handle);
        co_await bring_quietly(handle);
    }
    looked_for_lost_ = true;
}

// What is here may come from a backup or from the image of a machine that was set back, and the bucket has what was
// kept later. Each manifest has an ETag of its own, so a list tells which ones this server has not written last.
awaitable<> sandbox_vault::bring_newer()
{
    const std::string_view default_ones = "home";
    for (const auto& of : {sandboxes_.handles().node(), std::string(default_ones)}) {
        const bool has_any = std::ranges::any_of(
            known_, [&](const auto& each) { return is_default(each.first) == (of == default_ones); });
        if (!has_any) continue;
        const auto all = co_await bucket_.newest_of(of);
        for (const auto& [handle, snapshot] : all) {
            const auto known = known_.find(handle);
            if (known == known_.end() || known->second.epoch != snapshot.epoch) continue;
            const bool is_own = !snapshot.etag.empty() && snapshot.etag == known->second.etag;
            if (!is_own) co_await bring_newer_one(handle);
        }
    }
    looked_for_newer_ = true;
}

// A server that ended before it noted what it had kept has newer files than the bucket, or the same.
awaitable<> sandbox_vault::bring_newer_one(std::string handle)
{
    const auto mine = co_await turns_.take(handle);
    const auto here = find_here(handle);
    if (!here || here->passing) co_return;
    auto manifest = co_await bucket_.newest(handle);
    if (!manifest || record_in(*manifest).about.last_used <= here->last_used) co_return;
    const auto epoch = known_[handle].epoch;
    log::warning("sandbox_older_than_kept", {{"sandbox", handle}, {"kept", moment(manifest->taken)}});
    known_.erase(handle);
    auto work = sandboxes_.give_up(*here);
    co_await uncancelled(std::move(work));
    auto bringing = bring(*std::move(manifest), epoch);
    co_await uncancelled(std::move(bringing));
}

awaitable<> sandbox_vault::bring_newer_quietly()
{
    std::string problem;
    try {
        co_await bring_newer();
    } catch (const boost::system::system_error&) {
        throw;
    } catch (const std::runtime_error& failure) {
        problem = failure.what();
    }
    if (!problem.empty()) log::warning("snapshots_not_compared", {{"reason", problem}});
}

// Claimed by this server, which could not bring it then.
awaitable<> sandbox_vault::bring_claimed()
{
    const auto& own = sandboxes_.handles().node();
    std::vector<std::string> missing;
    for (const auto& [handle, owner] : claims_)
        if (owner.node == own && !deleted_.contains(handle) && !is_here(handle)) missing.push_back(handle);
    for (const auto& handle : missing) co_await bring_quietly(handle);
}

awaitable<> sandbox_vault::bring_quietly(std::string handle)
{
    std::string problem;
    try {
        gone_question nobody;
        co_await find(handle, sandboxes_.handles().node(), std::move(nobody));
    } catch (const sandbox_error& failure) {
        problem = failure.what();
    }
    if (!problem.empty()) log::warning("sandbox_not_brought", {{"sandbox", handle}, {"reason", problem}});
}

}  // namespace cmcp
