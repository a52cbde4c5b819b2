#include "vault/sandbox_vault.hpp"

#include "config/settings.hpp"
#include "log/log.hpp"
#include "metrics/registry.hpp"
#include "posix/unique_fd.hpp"
#include "sealing/bad_snapshot.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace cmcp {

// The part of sandbox_vault that decides what is done when.

namespace {

constexpr const char* forget_folder = ".forget";
constexpr std::size_t kept_at_once = 6;
constexpr std::chrono::hours as_long_as_it_takes(24);
constexpr std::chrono::seconds between_rounds(5);
constexpr std::chrono::milliseconds least_between_rounds(200);
constexpr std::chrono::seconds patience_at_start(2);  // a storage that is away holds no start up

}  // namespace

sandbox_vault::sandbox_vault(asio::any_io_executor executor, const settings& config, sandbox_manager& sandboxes,
                             kernel_manager& kernels)
    : executor_(executor),
      config_(config),
      sandboxes_(sandboxes),
      kernels_(kernels),
      bucket_(executor, config),
      giving_up_(std::move(executor))
{
    std::error_code none;
    const auto folder = sandboxes_.places().root() / forget_folder;
    for (std::filesystem::directory_iterator at(folder, none), end; !none && at != end; at.increment(none))
        deleted_.insert(at->path().filename().string());
    sandboxes_.on_delete([this](const std::string& id) { note_deleted(id); });
    sandboxes_.before_use([this](const sandbox_record& where) { refuse_where_unsure(where); });
    sandboxes_.before_default([this](std::string owner) { return bring_default(std::move(owner)); });
}

void sandbox_vault::count(std::string_view outcome)
{
    static auto& snapshots = metrics::all().counters(
        "cmcp_sandbox_snapshots_total", "Sandboxes kept in object storage, and brought from there.", {"outcome"});
    snapshots.at({outcome}).add();
}

sandbox_vault::~sandbox_vault() { stop_.request_stop(); }

// A stopped one is kept at once, because nothing changes in it any more.
bool sandbox_vault::is_due(const sandbox_record& record, double now) const
{
    if (record.passing) return false;
    const auto at = known_.find(record.id);
    const double used = at == known_.end() ? -1 : at->second.used;
    const double since = at == known_.end() ? record.created : at->second.taken;
    const auto every = std::chrono::duration<double>(config_.sandbox_snapshot_every).count();
    return record.last_used > used && (record.status != "running" || used < 0 || now - since >= every);
}

awaitable<stored_state> sandbox_vault::state_of(std::string id)
{
    auto read = [folder = sandboxes_.places().folder(id)] { return read_kept(folder); };
    auto state = co_await pool_.run(blocking_pool::server, std::move(read));
    auto& known = known_[id];
    known = state;
    known.files = {};
    known.calls = {};
    known.snapshots.clear();
    co_return state;
}

awaitable<> sandbox_vault::start()
{
    co_await name_defaults();
    for (const auto& each : sandboxes_.store().all()) {
        const auto state = co_await state_of(each.id);
        if (is_default(each.id) && state.epoch != 0)
            claims_.try_emplace(each.id, sandbox_claim{state.epoch, sandboxes_.handles().node()});
    }
    task_group comparing(executor_);
    comparing.spawn("a look for newer snapshots", bring_newer_quietly());
    co_await comparing.wait_idle(patience_at_start);
}

awaitable<> sandbox_vault::settle() { return look_at_claims(); }

awaitable<> sandbox_vault::take_back_released()
{
    std::vector<std::string> released;
    for (const auto& [id, state] : known_)
        if (state.released && !leaving_.contains(id)) released.push_back(id);
    co_await keep_all(std::move(released), false, as_long_as_it_takes);
}

bool sandbox_vault::is_here(const std::string& handle) const
{
    return !leaving_.contains(handle) && find_here(handle).has_value();
}

void sandbox_vault::hold(bool on) { sandboxes_.hold_everything(on); }

std::optional<sandbox_record> sandbox_vault::find_here(const std::string& id) const
{
    return sandboxes_.store().find_of_any(id);
}

void sandbox_vault::tell_next(const std::string& id, std::string sentence)
{
    sandboxes_.cells().tell_next(id, std::move(sentence));
}

// Remembered by a file until the bucket has forgotten it, too, because else bring_lost() would bring it back.
void sandbox_vault::note_deleted(const std::string& id)
{
    if (known_.erase(id) == 0) return;
    const auto folder = sandboxes_.places().root() / forget_folder;
    make_private_folder(folder);
    const unique_fd mark(::open((folder / id).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    deleted_.insert(id);
    woken_.notify();
}

awaitable<> sandbox_vault::forget_deleted()
{
    const auto all = deleted_;
    for (const auto& id : all) {
        const auto mine = co_await turns_.take(id);
        if (deleted_.contains(id)) co_await forget_deleted_one(id);
    }
}

awaitable<> sandbox_vault::forget_deleted_one(std::string id)
{
    co_await bucket_.forget(id);
    if (!is_alone()) co_await owners_->forget(id);
    claims_.erase(id);
    deleted_.erase(id);
    ::unlink((sandboxes_.places().root() / forget_folder / id).c_str());
}

awaitable<> sandbox_vault::keep_due()
{
    for (const auto& each : sandboxes_.store().all()) {
        if (ending_ || !is_due(each, sandbox_manager::now())) continue;
        std::string problem;
        try {
            co_await keep_in_turn(each.id, false);
        } catch (const boost::system::system_error&) {
            throw;
        } catch (const object_store_error&) {
            throw;
        } catch (const owners_away&) {
            throw;
        } catch (const std::runtime_error& failure) {
            problem = failure.what();
        }
        if (!problem.empty()) log::warning("sandbox_not_kept", {{"sandbox", each.id}, {"reason", problem}});
    }
}

awaitable<> sandbox_vault::run()
{
    const auto wanted = std::chrono::duration_cast<std::chrono::milliseconds>(config_.sandbox_snapshot_every) / 2;
    const auto between = std::clamp<std::chrono::milliseconds>(wanted, least_between_rounds, between_rounds);
    while (!ending_) {
        std::string problem;
        try {
            if (!looked_for_newer_) co_await bring_newer();
            co_await take_back_released();
            co_await claim_again();
            co_await adopt_defaults();
            co_await keep_due();
            co_await forget_deleted();
            if (!looked_for_lost_) co_await bring_lost();
            co_await bring_claimed();
        } catch (const boost::system::system_error&) {
            throw;
        } catch (const std::runtime_error& failure) {
            problem = failure.what();
        }
        if (!problem.empty() && !away_) log::warning("snapshot_store_away", {{"reason", problem}});
        if (problem.empty() && away_) log::info("snapshot_store_reached");
        away_ = !problem.empty();
        co_await woken_.wait(event::clock::now() + between);
    }
}

awaitable<> sandbox_vault::keep(std::string id)
{
    std::optional<sandbox_error> refused;
    try {
        co_await keep_in_turn(std::move(id), false);
    } catch (const object_store_error& failure) {
        refused.emplace("SnapshotStoreError", failure.what());
    } catch (const owners_away& failure) {
        refused.emplace("NodeCutOff", failure.what());
    }
    if (refused) throw sandbox_error(*refused);
}

awaitable<> sandbox_vault::release_all(std::chrono::milliseconds limit)
{
    ending_ = true;
    auto all = sandboxes();
    const auto count = all.size();
    const bool in_time = co_await keep_all(std::move(all), !is_alone(), limit);
    if (!in_time) stop_.request_stop();
    log::info("sandboxes_released", {{"sandboxes", count}, {"in_time", in_time}});
    if (in_time) co_await forget_quietly();
}

awaitable<> sandbox_vault::forget_quietly()
{
    std::string problem;
    try {
        co_await forget_deleted();
    } catch (const boost::system::system_error&) {
        throw;
    } catch (const std::runtime_error& failure) {
        problem = failure.what();
    }
    if (!problem.empty()) log::warning("snapshots_not_forgotten", {{"reason", problem}});
}

// False: not all in time.
awaitable<bool> sandbox_vault::keep_all(std::vector<std::string> ids, bool release, std::chrono::milliseconds limit)
{
    auto left = std::make_shared<std::vector<std::string>>(std::move(ids));
    task_group all(executor_);
    for (std::size_t i = 0; i != kept_at_once; ++i) all.spawn("keeping of sandboxes", keep_some(left, release));
    const bool ended = co_await all.wait_idle(limit);
    co_return ended;
}

awaitable<> sandbox_vault::keep_some(std::shared_ptr<std::vector<std::string>> left, bool release)
{
    while (!left->empty()) {
        const auto id = std::move(left->back());
        left->pop_back();
        std::string problem;
        try {
            co_await keep_in_turn(id, release);
        } catch (const boost::system::system_error&) {
            throw;
        } catch (const std::runtime_error& failure) {
            problem = failure.what();
        }
        if (!problem.empty()) log::warning("sandbox_not_kept", {{"sandbox", id}, {"reason", problem}});
    }
}

}  // namespace cmcp
