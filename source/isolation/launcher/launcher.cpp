#include "launcher/launcher.hpp"

#include "facilities/apparmor.hpp"
#include "facilities/setup_step.hpp"
#include "limits/project_quota.hpp"
#include "posix/signals.hpp"
#include "probe/probe.hpp"

#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>

// The loop and its runs; launcher_orders.cpp has the orders of the server, launcher_cells.cpp the lasting cells.
namespace cmcp::sandbox {
namespace {

// Tags of epoll: the server, the signals, the counts of workspaces, the folders of machines, and some for each key, of
// which there is no 0.
constexpr std::uint64_t server_tag = 0;
constexpr std::uint64_t signal_tag = 1;
constexpr std::uint64_t count_tag = 2;
constexpr std::uint64_t prepared_tag = 3;

json::object controllers_lacking(const cgroup_tree& cgroups)
{
    json::object lacking;
    for (const std::string_view each : needed_controllers)
        if (const std::string reason = cgroups.lacking(each); !reason.empty()) lacking[each] = reason;
    return lacking;
}

}  // namespace

std::uint64_t launcher::key_tag(std::uint64_t key, key_event event)
{
    return key * static_cast<std::uint64_t>(key_event::count) + static_cast<std::uint64_t>(event);
}

launcher::launcher(unique_fd server, launcher_options settings)
    : server_(std::move(server)),
      settings_(std::move(settings)),
      signals_(watch_signals({SIGTERM, SIGINT})),
      cgroups_(settings_.use_cgroups),
      with_time_namespace_(::access("/proc/self/ns/time", F_OK) == 0),
      no_apparmor_(find_no_apparmor())
{
    check(signals_.get(), "watch signals");
    poll_.add(server_.get(), server_tag);
    poll_.add(signals_.get(), signal_tag);
    poll_.add(workspaces_.readable(), count_tag);
    facts_ = launcher_facts();  // before the launcher leaves the server's namespaces
    facts_["cgroups"] = controllers_lacking(cgroups_);
    facts_["watchdog"] = true;
    facts_["workspace_quota"] = true;
    if (settings_.firejail.empty()) facts_["apparmor"] = no_apparmor_;
    facts_["privileged"] = ids_.privileged();
    facts_["own_range"] = ids_.own_range();
    try {
        enter_namespaces();
    } catch (const step_failed& failure) {
        obstacle_ = explain_setup_failure(failure);
    }
    filters_.emplace(cgroups_.holds("memory"), views_ && views_->own_files(), firejail_ == nullptr);
    facts_["obstacle"] = obstacle_;
    send(encode_text(message_kind::hello, json::serialize(facts_)));
    keep_python();
}

void launcher::enter_namespaces()
{
    if (settings_.firejail.empty()) ids_.enter_own_namespaces();
    root_ = workspace_root(settings_.workspaces);
    if (!settings_.workspaces.empty()) facts_["project_obstacle"] = project_obstacle(settings_.workspaces);
    if (settings_.firejail.empty()) {
        views_ = std::make_unique<view_store>(settings_.images, settings_.data);
        held_library_ = held_library();
        ready_.emplace(*this, settings_.waiting);
        return;
    }
    firejail_ = std::make_unique<firejail>(settings_.firejail, ids_.privileged());
    facts_["firejail"] = firejail_->version();
}

void launcher::serve()
{
    while (!done_) wait_and_handle();
    runs_.clear();
    left_.clear();
    for (auto& [key, each] : live_cells_) each->end();
    live_cells_.clear();
}

int launcher::milliseconds_to_next_event() const
{
    auto next = steady_time::max();
    if (ready_) next = std::min(next, ready_->next_event());
    for (const auto& [key, each] : runs_) next = std::min(next, each->next_event());
    for (const auto& [key, each] : left_) next = std::min(next, each.next_event());
    for (const auto& [key, each] : live_cells_) next = std::min(next, each->next_event());
    constexpr std::chrono::milliseconds for_killed{20};  // that have not ended yet
    const auto now = std::chrono::steady_clock::now();
    if (!measurers_.empty()) next = std::min(next, now + for_killed);
    if (next == steady_time::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now);
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

void launcher::hear_room(std::uint64_t tag)
{
    if (tag == server_tag) return flush();
    live_cell* const of = find_cell(tag / static_cast<std::uint64_t>(key_event::count));
    if (of == nullptr) return;
    of->own()->send_orders();
    begin_waiting(*of);
}

void launcher::wait_and_handle()
{
    epoll_event events[16];
    const int count = poll_.wait(events, 16, milliseconds_to_next_event());
    for (int i = 0; i < count; ++i) {
        if ((events[i].events & EPOLLOUT) != 0) hear_room(events[i].data.u64);
        if ((events[i].events & ~EPOLLOUT) != 0) handle(events[i].data.u64);
    }
    look_at_runs();
}

// A run that cannot be looked after is ended, because nothing holds it to its limits any more. The others go on.
void launcher::lose_run(std::uint64_t key, const char* why)
{
    run* const lost = find(key);
    if (lost == nullptr) return;
    const std::uint64_t id = lost->id();
    lost->kill(cause::cancelled);
    drop(key);
    refuse(id, std::string("The run was ended because the launcher could not look after it: ") + why + ". Try again.");
}

void launcher::look_at_runs()
{
    const auto now = std::chrono::steady_clock::now();
    std::vector<std::uint64_t> due;
    for (const auto& [key, each] : runs_)
        if (now >= each->next_event()) due.push_back(key);
    for (const std::uint64_t key : due)
        look_after(key, [&](run& of) {
            of.tick(now);
            watch_changing(key, of);
        });
    look_at_left(now);
    look_at_cells(now);
    measurers_.collect();
    if (ready_ && now >= ready_->next_event()) ready_->tick(now, runs_.size());
    watch_room();
}

void launcher::handle(std::uint64_t tag)
{
    if (tag == server_tag) return read_server();
    if (tag == count_tag) return start_those_that_wait();
    if (tag == prepared_tag) return machines_are_prepared();
    if (tag == signal_tag) {
        send(encode_text(message_kind::stops, {}));
        done_ = true;
        return;
    }
    constexpr auto events = static_cast<std::uint64_t>(key_event::count);
    const std::uint64_t key = tag / events;
    const auto event = static_cast<key_event>(tag % events);
    if (event == key_event::zygote_said)
        for (const auto& each : interpreters_) each->hear(key);
    else if (live_cells_.contains(key))
        handle_cell(key, event);
    else if (left_.contains(key))
        hear_left(key);
    else
        look_after(key, [&](run& of) {
            handle_run(of, event);
            watch_changing(key, of);
        });
}

void launcher::handle_run(run& of, key_event event)
{
    if (event == key_event::refused)
        of.hear_refusal();
    else
        of.hear();
}

// Those of the cgroups before the end of the probe run that showed them.
void launcher::tell_findings(cell& of)
{
    if (of.take_ended_largest())
        for (const std::uint64_t key : runs_in(of)) send(encode_largest_ended(find(key)->id()));
    const auto groups = of.take_cgroups();
    if (!groups) return;
    for (const auto& [controller, says] : *groups) facts_["cgroups"].as_object()[controller] = says;
    send(encode_text(message_kind::hello, json::serialize(facts_)));
}

void launcher::watch_changing(std::uint64_t key, const run& of)
{
    watched& now = watched_[key];
    poll_.replace(now.said, of.said(), key_tag(key, key_event::said));
    poll_.replace(now.refusals, of.refusals(), key_tag(key, key_event::refused));
}

shared_parts launcher::parts()
{
    const bool with_apparmor = no_apparmor_.empty() && !firejail_;
    return {ids_,
            views_.get(),
            root_,
            workspaces_,
            cgroups_,
            measurers_,
            *filters_,
            with_time_namespace_,
            with_apparmor,
            firejail_.get(),
            held_library_.get(),
            settings_.machines};
}

void launcher::watch_zygote(std::uint64_t key, int socket) { poll_.add(socket, key_tag(key, key_event::zygote_said)); }

run* launcher::find(std::uint64_t key)
{
    const auto entry = runs_.find(key);
    return entry == runs_.end() ? nullptr : entry->second.get();
}

void launcher::drop(std::uint64_t key)
{
    unwatch_changing(key);
    runs_.erase(key);
}

void launcher::report(std::uint64_t key)
{
    run& of = *find(key);
    send(encode_ended(of.report()));
    std::optional<left_program> left = of.take_left();
    drop(key);
    if (left) keep_left(key, std::move(*left));
}

void launcher::keep_left(std::uint64_t key, left_program left)
{
    left_.emplace(key, std::move(left));
    hear_left(key);
}

// Watches it anew in any case: the last process goes without a call, and only a watch tells of that.
void launcher::hear_left(std::uint64_t key)
try {
    left_program& of = left_.at(key);
    of.hear_call();
    if (!of.lives()) return drop_left(key);
    poll_.replace(watched_[key].refusals, of.calls(), key_tag(key, key_event::refused));
} catch (const std::exception&) {  // no memory or no more watches: their calls fail
    drop_left(key);
}

void launcher::look_at_left(steady_time now)
{
    std::vector<std::uint64_t> due;
    for (const auto& [key, each] : left_)
        if (now >= each.next_event()) due.push_back(key);
    for (const std::uint64_t key : due) {
        left_.at(key).tick();
        hear_left(key);
    }
}

void launcher::drop_left(std::uint64_t key)
{
    unwatch_changing(key);
    left_.erase(key);
}

void launcher::drop_left_in(const cell& in)
{
    std::vector<std::uint64_t> gone;
    for (const auto& [key, each] : left_)
        if (&each.in() == &in) gone.push_back(key);
    for (const std::uint64_t key : gone) drop_left(key);
}

void launcher::unwatch_changing(std::uint64_t key)
{
    const auto changing = watched_.find(key);
    if (changing == watched_.end()) return;
    poll_.replace(changing->second.said, -1, 0);
    poll_.replace(changing->second.refusals, -1, 0);
    poll_.replace(changing->second.figures, -1, 0);
    watched_.erase(changing);
}

void launcher::send(std::string message, std::vector<unique_fd> descriptors)
{
    outbox_.push_back({std::move(message), std::move(descriptors)});
    flush();
}

void launcher::flush()
try {
    while (!outbox_.empty() && send_packet(server_.get(), outbox_.front())) outbox_.pop_front();
    poll_.want_room(server_.get(), server_tag, !outbox_.empty());
} catch (const std::system_error&) {
    done_ = true;  // the server is gone
}

}  // namespace cmcp::sandbox
