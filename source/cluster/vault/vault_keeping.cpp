#include "async/uncancelled.hpp"
#include "log/log.hpp"
#include "posix/bytes.hpp"
#include "sandboxes/call_records.hpp"
#include "snapshots/snapshot_stopped.hpp"
#include "snapshots/snapshot_writer.hpp"
#include "vault/sandbox_vault.hpp"

#include <algorithm>

namespace cmcp {

// The part of sandbox_vault that keeps sandboxes.

namespace fs = std::filesystem;

namespace {

constexpr std::size_t uploads_at_once = 4;
constexpr double before_last_use = 0.001;                // a call that goes on writes more than is kept
constexpr std::chrono::milliseconds time_of_calls(100);  // from a call's arrival to its use of the sandbox
constexpr std::chrono::seconds longest_calls(5);

std::string read_file(const fs::path& file)
{
    const unique_fd open(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!open) throw std::system_error(errno, std::generic_category(), file.string());
    return read_all(open.get());
}

}  // namespace

awaitable<> sandbox_vault::put_file(passing_chunk chunk)
{
    auto read = [file = chunk.folder / chunk.id] { return read_file(file); };
    auto sealed = co_await pool_.run(blocking_pool::server, std::move(read));
    co_await bucket_.put_chunk(std::move(chunk.handle), chunk.epoch, std::move(chunk.id), std::move(sealed));
}

// `known`: ids that the bucket has, to which those of the folder are added.
awaitable<stored_folder> sandbox_vault::put_folder(fs::path folder, sandbox_record of, std::uint64_t epoch,
                                                   std::set<std::string>& known)
{
    const auto passing = co_await make_passing();
    snapshots::snapshot_order order;
    order.folder = std::move(folder);
    order.handle = of.id;
    order.into = passing;
    order.known = {known.begin(), known.end()};
    order.stop = stop_.get_token();
    auto write = [order, sealer = bucket_.sealer()] { return snapshots::write_snapshot(order, sealer); };
    auto written = co_await pool_.run(blocking_pool::server, std::move(write));
    std::vector<passing_chunk> fresh;
    for (const auto& each : written.chunks)
        if (known.insert(each.id).second) fresh.push_back({passing, of.id, epoch, each.id});
    auto put = [this](passing_chunk chunk) { return put_file(std::move(chunk)); };
    const auto failure = co_await pass_chunks(executor_, std::move(fresh), uploads_at_once, std::move(put));
    sandboxes_.remove_soon(of.owner, passing);
    if (failure) std::rethrow_exception(failure);
    co_return stored_folder{std::move(written.chunks), written.bytes};
}

// Named snapshots do not change, so each is read once.
awaitable<> sandbox_vault::keep_content(sandbox_record record, stored_state& state)
{
    const auto ids = state.ids();
    std::set<std::string> known(ids.begin(), ids.end());
    const auto began = std::chrono::system_clock::now();
    const auto copy = co_await copy_of(record);
    std::optional<sandbox_error> refused;
    try {
        co_await keep_calls(record, began, state, known);
        state.files = co_await put_folder(copy, record, state.epoch, known);
        std::map<std::string, stored_folder> all;
        for (const auto& each : sandboxes_.store().snapshots(record.id)) {
            const auto before = state.snapshots.find(each.id);
            if (before != state.snapshots.end())
                all[each.id] = std::move(before->second);
            else
                all[each.id] =
                    co_await put_folder(sandboxes_.places().snapshot(record.id, each.id), record, state.epoch, known);
        }
        state.snapshots = std::move(all);
    } catch (const sandbox_error& reason) {
        refused.emplace(reason);
    } catch (const snapshots::snapshot_stopped&) {
        refused.emplace("StateError", "The server ends.");
    } catch (const boost::system::system_error&) {
        throw;
    } catch (const object_store_error&) {
        sandboxes_.remove_soon(record.owner, copy);
        throw;
    } catch (const std::runtime_error& reason) {
        refused.emplace("SnapshotStoreError", std::string("It could not be kept: ") + reason.what() + ".");
    }
    sandboxes_.remove_soon(record.owner, copy);
    if (refused) throw sandbox_error(*refused);
}

// Read after the files, so that all calls whose changes they may have are known.
awaitable<> sandbox_vault::keep_calls(sandbox_record of, std::chrono::system_clock::time_point files_began,
                                      stored_state& state, std::set<std::string>& known)
{
    state.calls = {};
    const auto passing = co_await make_passing();
    auto copy = [records = call_records(sandboxes_.places().folder(of.id)), passing, files_began] {
        records.copy(passing, files_began);
        return !fs::is_empty(passing);
    };
    const bool has_any = co_await pool_.run(blocking_pool::server, std::move(copy));
    try {
        if (has_any) state.calls = co_await put_folder(passing, of, state.epoch, known);
    } catch (...) {
        sandboxes_.remove_soon(of.owner, passing);
        throw;
    }
    sandboxes_.remove_soon(of.owner, passing);
}

// Long outputs that results name stay with their server.
awaitable<fs::path> sandbox_vault::copy_of(sandbox_record record)
{
    auto copy = co_await kernels_.copy_aside(record);
    if (record.is_default()) {
        auto leave = [places = sandboxes_.places(), outputs = copy.folder / sandbox_homes::outputs_folder] {
            std::error_code none;
            if (fs::exists(fs::symlink_status(outputs, none))) places.remove(outputs);
        };
        co_await pool_.run(record.owner, std::move(leave));
    }
    co_return std::move(copy.folder);
}

stored_record sandbox_vault::record_of(const sandbox_record& about)
{
    return {about, sandboxes_.store().packages(about.id), sandboxes_.store().snapshots(about.id)};
}

awaitable<std::string> sandbox_vault::put_manifest(sandbox_record record, const stored_state& state)
{
    auto manifest = manifest_of(record_of(record), state, sandboxes_.handles().node());
    auto etag = co_await bucket_.put(std::move(manifest));
    co_return etag;
}

awaitable<> sandbox_vault::note_kept(std::string id, stored_state state)
{
    auto write = [folder = sandboxes_.places().folder(id), state] { write_kept(folder, state); };
    co_await pool_.run(blocking_pool::server, std::move(write));
    state.files = {};
    state.calls = {};
    state.snapshots.clear();
    known_[id] = std::move(state);
}

awaitable<> sandbox_vault::remove_old(std::string id, std::uint64_t epoch, std::vector<std::string> old,
                                      stored_state now)
{
    const auto kept = now.ids();
    for (const auto& each : old)
        if (!std::ranges::binary_search(kept, each)) co_await bucket_.remove_chunk(id, epoch, each);
}

// A default sandbox that was used while nobody could be asked is claimed now. What was kept under an older claim of
// this server is of before.
awaitable<bool> sandbox_vault::is_still_own(sandbox_record record, stored_state& state)
{
    if (is_alone() && state.used >= 0) co_return true;
    auto owner = co_await owner_of(record.id);
    const auto& here = sandboxes_.handles().node();
    if (owner.epoch == 0 && is_default(record.id))
        owner = co_await claim_or_owner(record.id, here, std::move(owner), false);
    if (owner.epoch <= state.epoch) co_return true;
    const bool own = owner.node == here;
    bool is_brought = own && state.epoch == 0 && is_default(record.id);
    if (is_brought) is_brought = co_await brings_back(record, owner.epoch);
    if (is_brought) co_return false;
    if (own)
        state = stored_state{.epoch = owner.epoch, .released = state.released};
    else
        co_await lose(std::move(record), owner);
    co_return own;
}

awaitable<> sandbox_vault::keep_in_turn(std::string id, bool release)
{
    const auto mine = co_await turns_.take(id);
    co_await keep_now(std::move(id), release);
}

awaitable<> sandbox_vault::keep_now(std::string id, bool release)
{
    const auto record = find_here(id);
    if (!record || record->passing) co_return;
    auto state = co_await state_of(id);
    if (record->last_used <= state.used && state.released == release) co_return;
    const bool own = co_await is_still_own(*record, state);
    if (!own) co_return;
    const bool is_new = record->last_used > state.used;
    const auto old = state.ids();
    const bool first = state.used < 0;
    const auto began = event::clock::now();
    if (is_new) {
        state.taken = sandbox_manager::now();
        const bool busy = sandboxes_.is_busy(id);
        co_await keep_content(*record, state);
        state.used = busy ? record->last_used - before_last_use : record->last_used;
    }
    state.released = release;
    auto etag = co_await put_manifest(*record, state);
    state.etag = std::move(etag);
    co_await note_kept(id, state);
    co_await remove_old(id, state.epoch, old, state);
    if (first) co_await bucket_.forget(id, state.epoch);
    count("kept");
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(event::clock::now() - began);
    log::info("sandbox_kept",
              {{"sandbox", id}, {"bytes", state.files.bytes}, {"released", release}, {"ms", took.count()}});
}

awaitable<> sandbox_vault::lose(sandbox_record record, sandbox_claim owner)
{
    lost_[record.owner] = event::clock::now();
    return give_up(std::move(record), std::move(owner));
}

bool sandbox_vault::has_lost(const std::string& principal, event::clock::time_point since) const
{
    const auto last = lost_.find(principal);
    return last != lost_.end() && last->second >= since;
}

awaitable<> sandbox_vault::give_up(sandbox_record record, sandbox_claim owner)
{
    log::warning("sandbox_superseded", {{"sandbox", record.id}, {"by", owner.node}});
    claims_[record.id] = std::move(owner);
    known_.erase(record.id);
    auto work = sandboxes_.give_up(std::move(record));
    co_await uncancelled(std::move(work));
}

std::vector<std::string> sandbox_vault::sandboxes()
{
    std::vector<std::string> all;
    for (const auto& each : sandboxes_.store().all())
        if (!each.passing) all.push_back(each.id);
    return all;
}

std::vector<std::string> sandbox_vault::idle_sandboxes(bool stopped)
{
    auto all = sandboxes_.store().all();
    std::erase_if(all, [&](const auto& each) {
        return each.passing || sandboxes_.is_busy(each.id) || (stopped && each.status == "running");
    });
    std::ranges::sort(all, {}, &sandbox_record::last_used);
    std::vector<std::string> ids;
    for (auto& each : all) ids.push_back(std::move(each.id));
    return ids;
}

void sandbox_vault::refuse_where_busy(const std::string& id) const
{
    if (sandboxes_.is_busy(id))
        throw sandbox_error("StateError", "Something goes on in the sandbox " + id + ": wait for its end, or end it.");
}

// Calls that had found the sandbox here before it left begin a moment later; those that come now wait for its move.
awaitable<> sandbox_vault::let_calls_in(std::string id)
{
    asio::steady_timer timer(executor_);
    const auto until = event::clock::now() + longest_calls;
    do {
        timer.expires_after(time_of_calls);
        co_await timer.async_wait(asio::use_awaitable);
    } while (sandboxes_.is_busy(id) && event::clock::now() < until);
    refuse_where_busy(id);
    leaving_[id] = true;
}

awaitable<> sandbox_vault::hand_over(std::string id, std::string to, take_question take)
{
    const auto mine = co_await turns_.take(id);
    const auto record = find_here(id);
    if (!record || record->passing)
        throw sandbox_error("NotFound", "There is no sandbox " + id + " here that could move.");
    refuse_where_busy(id);
    struct mark {
        std::map<std::string, bool>& all;
        const std::string& id;
        ~mark() { all.erase(id); }
    };
    leaving_[id] = false;
    const mark leaves{leaving_, id};
    co_await let_calls_in(id);
    std::optional<sandbox_error> refused;
    try {
        co_await hand_over_in_turn(*record, std::move(to), std::move(take));
    } catch (const object_store_error& failure) {
        refused.emplace("SnapshotStoreError", failure.what());
    } catch (const owners_away& failure) {
        refused.emplace("NodeCutOff", failure.what());
    }
    if (refused) throw sandbox_error(*refused);
}

// From the claim on the other server is the owner, and brings the sandbox by itself, whatever it answers.
awaitable<> sandbox_vault::hand_over_in_turn(sandbox_record record, std::string to, take_question take)
{
    sandbox_error why("StateError", "The sandbox moves to another server.");
    if (record.status == "running") co_await sandboxes_.end_processes(record, std::move(why));
    co_await keep_now(record.id, true);
    if (!find_here(record.id)) co_return;
    auto before = co_await owner_of(record.id);
    const bool is_given = co_await owners_->claim(record.id, to, std::move(before), false);
    auto owner = co_await owner_of(record.id);
    if (!is_given && owner.node == sandboxes_.handles().node())
        throw sandbox_error("NodeUnreachable", "The sandbox " + record.id + " was claimed meanwhile.");
    auto work = give_up(record, std::move(owner));
    co_await uncancelled(std::move(work));
    const bool is_taken = co_await take();
    if (!is_taken) log::warning("sandbox_not_taken", {{"sandbox", record.id}, {"by", to}});
}

}  // namespace cmcp
