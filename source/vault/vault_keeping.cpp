#include "async/uncancelled.hpp"
#include "log/log.hpp"
#include "posix/bytes.hpp"
#include "snapshots/snapshot_stopped.hpp"
#include "snapshots/snapshot_writer.hpp"
#include "vault/vault_turn.hpp"

#include <algorithm>

namespace cmcp {

// The part of sandbox_vault that keeps sandboxes.

namespace fs = std::filesystem;

namespace {

constexpr std::size_t uploads_at_once = 4;
constexpr double before_last_use = 0.001;  // a call that goes on writes more than is kept
constexpr std::chrono::hours longest_upload(24);

std::string read_file(const fs::path& file)
{
    const unique_fd open(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!open) throw std::system_error(errno, std::generic_category(), file.string());
    return read_all(open.get());
}

}  // namespace

/// Files of chunks on their way into the bucket.
struct sandbox_vault::upload {
    fs::path folder;
    std::string handle;
    std::uint64_t epoch = 0;
    std::vector<std::string> ids{};
    std::size_t next = 0;
    std::optional<object_store_error> failure{};
};

awaitable<> sandbox_vault::put_files(std::shared_ptr<upload> all)
{
    try {
        while (all->next < all->ids.size() && !all->failure) {
            auto id = all->ids[all->next++];
            auto read = [file = all->folder / id] { return read_file(file); };
            auto sealed = co_await pool_.run(blocking_pool::server, std::move(read));
            co_await bucket_.put_chunk(all->handle, all->epoch, std::move(id), std::move(sealed));
        }
    } catch (const object_store_error& reason) {
        all->failure.emplace(reason);
    }
}

// `known`: ids that the bucket has, to which those of the folder are added.
awaitable<kept_folder> sandbox_vault::put_folder(fs::path folder, sandbox_record of, std::uint64_t epoch,
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
    auto all = std::make_shared<upload>();
    all->folder = passing;
    all->handle = of.id;
    all->epoch = epoch;
    for (const auto& each : written.chunks)
        if (known.insert(each.id).second) all->ids.push_back(each.id);
    task_group uploads(executor_);
    for (std::size_t i = 0; i != uploads_at_once; ++i) uploads.spawn("upload of a sandbox", put_files(all));
    co_await uploads.wait_idle(longest_upload);
    sandboxes_.remove_soon(of.owner, passing);
    if (all->failure) throw object_store_error(*all->failure);
    if (all->next < all->ids.size())
        throw sandbox_error("SnapshotStoreError", "The sandbox could not be kept: a file of its parts is unreadable.");
    co_return kept_folder{std::move(written.chunks), written.bytes};
}

// Named snapshots do not change, so each is read once.
awaitable<> sandbox_vault::keep_content(sandbox_record record, kept_state& state)
{
    const auto ids = state.ids();
    std::set<std::string> known(ids.begin(), ids.end());
    const auto copy = co_await kernels_.copy_aside(record);
    std::optional<sandbox_error> refused;
    try {
        state.workspace = co_await put_folder(copy.folder, record, state.epoch, known);
        std::map<std::string, kept_folder> all;
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
        sandboxes_.remove_soon(record.owner, copy.folder);
        throw;
    } catch (const std::runtime_error& reason) {
        refused.emplace("SnapshotStoreError", std::string("The sandbox could not be kept: ") + reason.what() + ".");
    }
    sandboxes_.remove_soon(record.owner, copy.folder);
    if (refused) throw sandbox_error(*refused);
}

kept_record sandbox_vault::record_of(const sandbox_record& about)
{
    return {about, sandboxes_.store().packages(about.id), sandboxes_.store().snapshots(about.id)};
}

awaitable<> sandbox_vault::put_manifest(sandbox_record record, kept_state state)
{
    auto manifest = manifest_of(record_of(record), state, sandboxes_.handles().node());
    co_await bucket_.put(std::move(manifest));
    auto write = [folder = sandboxes_.places().folder(record.id), state] { write_kept(folder, state); };
    co_await pool_.run(blocking_pool::server, std::move(write));
    state.workspace = {};
    state.snapshots.clear();
    known_[record.id] = std::move(state);
}

awaitable<> sandbox_vault::remove_old(std::string id, std::uint64_t epoch, std::vector<std::string> old, kept_state now)
{
    const auto kept = now.ids();
    for (const auto& each : old)
        if (!std::ranges::binary_search(kept, each)) co_await bucket_.remove_chunk(id, epoch, each);
}

awaitable<bool> sandbox_vault::is_still_own(sandbox_record record, std::uint64_t epoch)
{
    const auto owner = co_await bucket_.owner_of(record.id);
    const bool own = owner.epoch <= epoch;
    if (!own) co_await give_up(std::move(record), owner);
    co_return own;
}

awaitable<> sandbox_vault::keep_in_turn(std::string id, bool release)
{
    const turn mine = co_await turn::take(turns_, id);
    const auto record = sandboxes_.store().find_of_any(id);
    if (!record || record->passing) co_return;
    auto state = co_await state_of(id);
    const bool is_new = record->last_used > state.used;
    if (!is_new && state.released == release) co_return;
    const bool own = co_await is_still_own(*record, state.epoch);
    if (!own) co_return;
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
    co_await put_manifest(*record, state);
    co_await remove_old(id, state.epoch, old, state);
    if (first) co_await bucket_.forget(id, state.epoch, false);
    count("kept");
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(event::clock::now() - began);
    log::info("sandbox_kept",
              {{"sandbox", id}, {"bytes", state.workspace.bytes}, {"released", release}, {"ms", took.count()}});
}

awaitable<> sandbox_vault::give_up(sandbox_record record, sandbox_claim owner)
{
    log::warning("sandbox_superseded", {{"sandbox", record.id}, {"by", owner.node}});
    claims_[record.id] = std::move(owner);
    known_.erase(record.id);
    auto work = sandboxes_.give_up(std::move(record));
    co_await uncancelled(std::move(work));
}

}  // namespace cmcp
