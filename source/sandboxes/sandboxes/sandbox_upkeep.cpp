#include "sandboxes/sandbox_manager.hpp"

#include "async/pause.hpp"
#include "async/uncancelled.hpp"
#include "config/settings.hpp"
#include "log/log.hpp"
#include "sandboxes/sandbox_paths.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <set>

namespace cmcp {

// The part of sandbox_manager that looks after leftovers of a crash and after idle and old sandboxes.

namespace {

constexpr std::chrono::milliseconds most_between_rounds(30'000);
constexpr std::chrono::milliseconds least_between_rounds(250);
constexpr std::chrono::milliseconds upkeep_ending_limit(5'000);
constexpr std::chrono::seconds longest_start(30);
constexpr std::uint64_t least_memory = 16u << 20;       // of a live sandbox
constexpr std::uint64_t memory_of_a_start = 64u << 20;  // of a kernel with its first imports

sandbox_error stopped_meanwhile()
{
    return {"StateError", "The sandbox was stopped meanwhile (stop_sandbox): its processes ended, its files are kept."};
}

/// A name in a set, for as long as this lives.
struct mark_in {
    mark_in(std::set<std::string>& all, std::string name) : all_(all), name_(std::move(name)) { all_.insert(name_); }
    mark_in(const mark_in&) = delete;
    mark_in& operator=(const mark_in&) = delete;
    ~mark_in() { all_.erase(name_); }

private:
    std::set<std::string>& all_;
    std::string name_;
};

double seconds(std::chrono::milliseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

// Called while no other process uses the store.
void sandbox_manager::reconcile()
{
    std::size_t leftovers = 0;
    for (const auto& each : store_.passing()) store_.begin_delete(each.id);  // sessions ended with their server
    for (const auto& each : store_.unfinished_deletes()) {
        for (const auto& folder : places_.folders(each)) places_.remove(folder);
        store_.finish_delete(each.id);
        ++leftovers;
    }
    std::set<std::string> known;
    for (const auto& each : store_.all()) {
        if (each.is_default()) places_.make(each);  // the caller always has one
        if (places_.exists(each)) {
            known.insert(each.id);
            places_.remove(places_.folder(each.id) / "restored");
            if (places_.end_marked_installs(each))
                store_.set_packages(each.id, installed_packages(places_.files(each)));
            if (each.status == "running" && !each.services.empty()) ran_before_.push_back(each.id);
            if (!each.is_paused()) store_.set_status(each.id, "stopped");  // its runs ended with their server
            continue;
        }
        log::warning("sandbox_lost", {{"sandbox", each.id}, {"reason", "its folder is gone"}});
        store_.begin_delete(each.id);
        store_.finish_delete(each.id);
    }
    for (const auto& id : places_.all()) {
        if (known.contains(id)) continue;
        places_.remove(places_.folder(id));
        ++leftovers;
    }
    remove_stray_snapshots();
    places_.clear_superseded(config_.sandbox_ttl);
    places_.clear_trash();
    if (leftovers != 0) log::info("sandbox_leftovers_removed", {{"count", leftovers}});
}

void sandbox_manager::remove_stray_snapshots()
{
    std::set<std::string> kept;
    for (const auto& each : store_.all_snapshots()) kept.insert(each.id);
    for (const auto& each : store_.all()) {
        std::error_code none;
        const auto folder = places_.folder(each.id) / "snapshots";
        std::vector<std::filesystem::path> strays;
        for (std::filesystem::directory_iterator at(folder, none), end; !none && at != end; at.increment(none))
            if (!kept.contains(at->path().filename().string())) strays.push_back(at->path());
        for (const auto& stray : strays) places_.remove(stray);
    }
}

void sandbox_manager::look_for_packages_soon(sandbox_record of)
{
    tasks_.spawn("look for packages", look_for_packages(std::move(of)));
}

awaitable<> sandbox_manager::look_for_packages(sandbox_record of)
{
    auto work = [folder = places_.files(of)] { return installed_packages(folder); };
    const auto versions = co_await pool_.run(blocking_pool::server, std::move(work));
    if (places_.exists(of)) store_.set_packages(of.id, versions);
}

void sandbox_manager::remove_soon(std::string owner, std::filesystem::path what)
{
    tasks_.spawn("remove a folder", erase(std::move(owner), std::move(what)));
}

awaitable<> sandbox_manager::start()
{
    warn_of_default_image();
    tasks_.spawn("look after sandboxes", look_after());
    leases_.start();
    for (const auto& id : std::exchange(ran_before_, {}))
        if (const auto where = store_.find_of_any(id)) enter(*where);
    co_return;
}

awaitable<> sandbox_manager::stop()
{
    co_await leases_.stop();
    co_await fetches_.stop();
    network_.stop();
    tasks_.cancel_all();
    co_await tasks_.wait_idle(upkeep_ending_limit);
}

awaitable<> sandbox_manager::look_after()
{
    const auto shortest = std::min(config_.sandbox_idle_timeout, config_.sandbox_ttl);
    const auto every = std::clamp(shortest / 4, least_between_rounds, most_between_rounds);
    asio::steady_timer timer(executor_);
    for (;;) {
        timer.expires_after(every);
        co_await timer.async_wait(asio::use_awaitable);
        co_await sweep(now());
    }
}

awaitable<> sandbox_manager::end_processes(caller who, std::string id_or_name)
{
    auto work = end_processes(find(who, id_or_name), stopped_meanwhile());
    co_await std::move(work);
}

awaitable<> sandbox_manager::end_processes(sandbox_record of, sandbox_error why)
{
    auto work = stop_now(std::move(of), std::move(why), "stopped");
    co_await uncancelled(std::move(work));
}

awaitable<std::vector<std::string>> sandbox_manager::end_for_pause(sandbox_record of, sandbox_error why)
{
    std::vector<std::string> lost;
    const auto live = co_await cells_.now();
    if (const auto cell = live.find(of.id); cell != live.end()) {
        const auto programs = cell->second.processes - std::min<std::uint64_t>(cell->second.processes, idle_in(of.id));
        if (programs != 0) lost.push_back(std::to_string(programs) + (programs == 1 ? " process" : " processes"));
        lost.emplace_back("/tmp");
    }
    auto unkept = co_await stop_now(std::move(of), std::move(why), "paused");
    for (auto& each : unkept) lost.push_back(std::move(each));
    co_return lost;
}

// Doors are made with a cell, so one that is to have others ends.
awaitable<bool> sandbox_manager::set_network(caller who, std::string id_or_name, network_wish wish)
{
    auto record = find(who, id_or_name);
    const bool had = !record.network.empty();
    record.network = network_.hosts_of(who, wish);
    store_.set_network(record.id, record.network);
    network_.renew(record);
    if (had == !record.network.empty() && !network_.waits_for_secrets(record)) co_return false;
    const auto live = co_await cells_.now();
    if (!live.contains(record.id)) co_return false;
    sandbox_error why("StateError", "The sandbox has another network now, for which its processes were ended.");
    auto work = end_processes(std::move(record), std::move(why));
    co_await std::move(work);
    co_return true;
}

awaitable<std::vector<std::string>> sandbox_manager::keep_all(std::string id, std::string why)
{
    std::vector<std::string> lost;
    for (const auto& keep : keeps_) {
        auto unkept = co_await keep(id, why);
        if (!unkept.empty()) lost.push_back(std::move(unkept));
    }
    co_return lost;
}

// The cell ends first, because shells and kernels that are asked to end take their time.
awaitable<std::vector<std::string>> sandbox_manager::stop_now(sandbox_record stopped, sandbox_error why,
                                                              const char* status)
{
    store_.touch(stopped.id, now());  // its processes may have written until now
    auto unkept = co_await keep_all(stopped.id, std::string("The sandbox was ") + status);
    const activities_reopened at_end{activities_, stopped.id};
    activities_.cancel_all(stopped.id, why);
    co_await cells_.end(stopped);
    co_await activities_.end_all(stopped.id);
    store_.set_status(stopped.id, status);
    log::info("sandbox_stopped", {{"sandbox", stopped.id}, {"status", status}});
    co_await stop_all(std::move(stopped));
    co_return unkept;
}

awaitable<> sandbox_manager::give_up(sandbox_record lost)
{
    store_.begin_delete(lost.id);
    co_await activities_.end_all(lost.id);
    co_await stop_all(lost);
    cells_.forget(lost.id);
    auto aside = [places = places_, lost] { places.supersede(lost); };
    co_await pool_.run(lost.owner, std::move(aside));
    store_.finish_delete(lost.id);
    activities_.forget(lost.id);
}

awaitable<> sandbox_manager::end_everything(sandbox_error why)
{
    for (const auto& each : store_.all())
        if (each.status == "running") co_await stop_now(each, why, "stopped");
}

void sandbox_manager::hold_everything(bool on) { cells_.hold(on); }

std::size_t sandbox_manager::idle_in(const std::string& id) const
{
    std::size_t idle = 0;
    for (const auto& of : idle_) idle += of(id);
    return idle;
}

// Of the caller's own sandboxes in which nothing runs but what waits for a call; where the caller has not used up their
// share, also of a caller who has more of them.
std::optional<sandbox_record> sandbox_manager::longest_unused(const std::map<std::string, sandbox::cell_state>& live,
                                                              const sandbox::cell_name& name, bool own_alone)
{
    const auto count = [&](const std::string& principal) {
        return static_cast<std::size_t>(
            std::ranges::count_if(live, [&](const auto& entry) { return entry.second.name.principal == principal; }));
    };
    const std::size_t own = count(name.principal);
    const bool own_share_is_used = own >= std::max<std::size_t>(1, config_.max_live_sandboxes / 2);
    std::optional<sandbox_record> best;
    for (const auto& [id, state] : live) {
        const bool is_own = state.name.principal == name.principal;
        if (id == name.cell || activities_.busy(id) || giving_way_.contains(id)) continue;
        if (!is_own && (own_alone || own_share_is_used || count(state.name.principal) <= own + 1)) continue;
        if (state.processes > idle_in(id)) continue;
        auto record = store_.find_of_any(id);
        const auto rank = [&](const sandbox_record& of) { return std::pair(of.owner != name.principal, of.last_used); };
        if (record && (!best || rank(*record) < rank(*best))) best = std::move(record);
    }
    return best;
}

// A program that ends, or that has just come to stand by, counts as one of its sandbox's for some milliseconds.
awaitable<bool> sandbox_manager::make_room(sandbox::cell_name name, bool own_alone)
{
    constexpr int most_looks = 5;
    constexpr std::chrono::milliseconds between_looks(50);
    std::optional<sandbox_record> unused;
    for (int looks = 0; !unused && looks != most_looks; ++looks) {
        if (looks != 0) co_await pause_for(between_looks);
        const auto live = co_await cells_.now();
        unused = longest_unused(live, name, own_alone);
    }
    if (!unused) co_return false;
    const mark_in mark{giving_way_, unused->id};
    co_await keep_all(unused->id, "The sandbox was stopped to make room for another one");
    if (activities_.busy(unused->id)) co_return true;  // it is in use again, and the next look finds another
    log::info("sandbox_gave_way", {{"sandbox", unused->id}, {"to", name.cell}});
    store_.set_status(unused->id, "stopped");
    co_await stop_all(*unused);
    if (unused->owner == name.principal)
        cells_.tell_beside(name.cell, "The sandbox " + unused->name +
                                          ", unused for longest, made room for this one: its idle kernel or shell "
                                          "ended. Its files are there, and the variables of its kernel are back with "
                                          "its next call.");
    co_return true;
}

// Starts that are not yet among the live count as well, so that not all calls of one moment fit.
std::uint64_t sandbox_manager::memory_held(const std::map<std::string, sandbox::cell_state>& live,
                                           const std::string& owner)
{
    const auto now = std::chrono::steady_clock::now();
    std::erase_if(starting_,
                  [&](const auto& each) { return live.contains(each.first) || now - each.second.at > longest_start; });
    std::uint64_t held = 0;
    for (const auto& [id, state] : live)
        if (state.name.principal == owner) held += std::max(state.memory, least_memory);
    for (const auto& [id, each] : starting_)
        if (each.owner == owner) held += memory_of_a_start;
    return held;
}

awaitable<> sandbox_manager::admit_to_memory(sandbox_record where)
{
    const auto in_mebibytes = [](std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
    for (;;) {
        const auto live = co_await cells_.now();
        const auto held = memory_held(live, where.owner);
        if (memory_of_a_caller_ == 0 || held == 0 || held + memory_of_a_start <= memory_of_a_caller_) break;
        sandbox::cell_name name{where.owner, where.id};
        const bool has_ended = co_await make_room(std::move(name), true);
        if (!has_ended)
            throw sandbox_error("QuotaExceeded",
                                "Your live sandboxes hold " + in_mebibytes(held) + " of the " +
                                    in_mebibytes(memory_of_a_caller_) +
                                    " of memory that one caller may have on this server, and all of them are at work. "
                                    "Wait for one, end its processes with stop_sandbox, or end a kernel with "
                                    "restart_kernel.");
    }
    starting_[where.id] = {where.owner, std::chrono::steady_clock::now()};
    admitted_.insert(where.id);
}

awaitable<> sandbox_manager::admit_run(sandbox_record where)
{
    if (admitted_.contains(where.id)) co_return;
    co_await admit_to_memory(std::move(where));
}

awaitable<> sandbox_manager::sweep(double at)
{
    for (const auto& id : activities_.busy_ids()) store_.touch(id, at);
    const auto at_work = co_await cells_.at_work();
    for (const auto& id : at_work) store_.touch(id, at);
    for (const auto& each : store_.used_before(at - seconds(config_.sandbox_idle_timeout), "running")) {
        if (activities_.busy(each.id) || each.lease.ends > at) continue;
        co_await keep_all(each.id, "The sandbox was stopped because nobody used it");
        if (activities_.busy(each.id)) continue;
        store_.set_status(each.id, "stopped");
        co_await stop_all(each);
    }
    for (const auto& each : store_.used_before(at - seconds(config_.sandbox_ttl), "")) {
        if (each.is_default() && !sandbox_homes::is_of_session(each.home)) continue;
        const bool is_leased = each.lease.ends > at && !each.is_paused();
        if (is_leased || kept_(each) || activities_.busy(each.id) || !store_.begin_delete(each.id)) continue;
        log::info("sandbox_expired", {{"sandbox", each.id}});
        co_await destroy(each);
    }
    auto work = [file = store_.file()] { sandbox_store::checkpoint(file); };
    co_await pool_.run(blocking_pool::server, std::move(work));
}

}  // namespace cmcp
