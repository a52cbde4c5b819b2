#include "launcher/launcher.hpp"

#include "jail/apparmor.hpp"
#include "jail/probe.hpp"
#include "jail/project_quota.hpp"
#include "jail/setup_step.hpp"
#include "launcher/standby_commands.hpp"
#include "posix/signals.hpp"

#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>

// The loop and its runs; launcher_orders.cpp has the orders of the server, launcher_cells.cpp the lasting cells.
namespace cmcp::sandbox {
namespace {

// Tags of epoll: the server, the signals, the counts of workspaces, and some for each key, of which there is no 0.
constexpr std::uint64_t server_tag = 0;
constexpr std::uint64_t signal_tag = 1;
constexpr std::uint64_t count_tag = 2;

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
        enter_place();
    } catch (const step_failed& failure) {
        obstacle_ = explain_setup_failure(failure);
    }
    filters_.emplace(cgroups_.holds("memory"), views_ && views_->own_files());
    facts_["obstacle"] = obstacle_;
    send(encode_text(message_kind::hello, json::serialize(facts_)));
    keep_python();
}

void launcher::enter_place()
{
    if (settings_.firejail.empty()) ids_.enter_own_namespaces();
    root_ = workspace_root(settings_.workspaces);
    if (!settings_.workspaces.empty()) facts_["project_obstacle"] = project_obstacle(settings_.workspaces);
    if (settings_.firejail.empty()) {
        views_ = std::make_unique<view_store>(settings_.images);
        if (settings_.waiting != 0) pools_.push_back(std::make_unique<standby_commands>(*this, settings_.waiting));
        return;
    }
    firejail_ = std::make_unique<firejail>(settings_.firejail, ids_.privileged());
    facts_["firejail"] = firejail_->version();
}

void launcher::serve()
{
    while (!done_) wait_and_handle();
    for (auto& [id, each] : runs_) each->kill(cause::cancelled);
    runs_.clear();
    live_cells_.clear();
}

int launcher::milliseconds_to_next_event() const
{
    auto next = steady_time::max();
    for (const auto& pool : pools_) next = std::min(next, pool->next_event());
    for (const auto& [key, each] : runs_) next = std::min(next, each->next_event());
    for (const auto& [key, each] : live_cells_) next = std::min(next, each->own()->next_event());
    if (next == steady_time::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - std::chrono::steady_clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

void launcher::wait_and_handle()
{
    epoll_event events[16];
    const int count = poll_.wait(events, 16, milliseconds_to_next_event());
    for (int i = 0; i < count; ++i) {
        if ((events[i].events & EPOLLOUT) != 0) flush();
        if ((events[i].events & ~EPOLLOUT) != 0) handle(events[i].data.u64);
    }
    look_at_runs();
}

std::size_t launcher::running() const
{
    const auto goes_on = [](const auto& entry) { return entry.second->begun() && !entry.second->reported(); };
    return static_cast<std::size_t>(std::count_if(runs_.begin(), runs_.end(), goes_on));
}

// A run that cannot be looked after is ended, because nothing holds it to its limits any more. The others go on.
template <class Work>
void launcher::look_after(std::uint64_t key, Work work)
try {
    if (run* const of = find(key)) work(*of);
} catch (const std::exception& failure) {
    const run* const lost = find(key);
    if (lost == nullptr) return;
    const bool is_waited_for = lost->begun() && !lost->reported();
    const std::uint64_t id = lost->id();
    const std::string why = std::string("The run was ended because the launcher could not look after it: ") +
                            failure.what() + ". Try again.";
    drop(key);
    if (is_waited_for) return refuse(id, why);
    for (const auto& pool : pools_) pool->lost(key, why);
}

void launcher::look_at_runs()
{
    const auto now = std::chrono::steady_clock::now();
    std::vector<std::uint64_t> due;
    for (const auto& [key, each] : runs_)
        if (now >= each->next_event()) due.push_back(key);
    for (const std::uint64_t key : due)
        look_after(key, [&](run& of) {
            of.look(now);
            watch_changing(key, of);
        });
    look_at_cells(now);
    measurers_.collect();
    for (const auto& pool : pools_)
        if (now >= pool->next_event()) pool->look(now, running());
}

void launcher::handle(std::uint64_t tag)
{
    if (tag == server_tag) return read_server();
    if (tag == count_tag) return start_counted();
    if (tag == signal_tag) {
        done_ = true;
        return;
    }
    constexpr auto events = static_cast<std::uint64_t>(key_event::count);
    const std::uint64_t key = tag / events;
    const auto event = static_cast<key_event>(tag % events);
    if (event == key_event::zygote_said)
        for (const auto& pool : pools_) pool->hear_zygote(key);
    else if (live_cells_.contains(key))
        handle_cell(key, event);
    else if (event == key_event::ended)
        look_after(key, [&](run& of) { end(key, of); });
    else
        look_after(key, [&](run& of) { handle_run(key, of, event); });
}

void launcher::handle_run(std::uint64_t key, run& of, key_event event)
{
    if (event == key_event::refused) {
        poll_.replace(watched_[key].refusals, -1, 0);  // the listener may close it
        of.hear_refusal();
    } else if (event == key_event::measured)
        of.in().hear_figures();
    else if (!of.hear())
        poll_.remove(of.control());
    watch_changing(key, of);
    for (const auto& pool : pools_)
        if (!of.begun()) pool->heard_of(key);
    tell_findings(of);
    if (of.over() && !of.reported()) send(encode_ended(of.report()));
    if (of.reported() && of.first_process() < 0) drop(key);  // its cell lives on
}

// Before the end of the probe run that showed them.
void launcher::tell_findings(run& of)
{
    const auto groups = of.in().take_cgroups();
    if (!groups) return;
    for (const auto& [controller, says] : *groups) facts_["cgroups"].as_object()[controller] = says;
    send(encode_text(message_kind::hello, json::serialize(facts_)));
}

void launcher::watch_changing(std::uint64_t key, const run& of)
{
    watched& now = watched_[key];
    poll_.replace(now.refusals, of.refusals(), key_tag(key, key_event::refused));
    poll_.replace(now.figures, of.figures(), key_tag(key, key_event::measured));
}

shared_parts launcher::parts()
{
    const bool with_apparmor = no_apparmor_.empty() && !firejail_;
    return {ids_,      views_.get(),         root_,         workspaces_,    cgroups_, measurers_,
            *filters_, with_time_namespace_, with_apparmor, firejail_.get()};
}

void launcher::watch_zygote(std::uint64_t key, int socket) { poll_.add(socket, key_tag(key, key_event::zygote_said)); }

void launcher::keep(std::uint64_t key, std::unique_ptr<run> kept)
try {
    const bool has_process = kept->in().pidfd() >= 0;
    runs_.emplace(key, std::move(kept));
    if (has_process) watch_run(key);
} catch (...) {
    drop(key);
    throw;
}

run* launcher::find(std::uint64_t key)
{
    const auto entry = runs_.find(key);
    return entry == runs_.end() ? nullptr : entry->second.get();
}

void launcher::drop(std::uint64_t key)
{
    unwatch_run(key);
    runs_.erase(key);
}

void launcher::watch_run(std::uint64_t key)
{
    const run& of = *runs_.at(key);
    if (of.first_process() >= 0) poll_.add(of.first_process(), key_tag(key, key_event::ended));
    poll_.add(of.control(), key_tag(key, key_event::said));
}

void launcher::unwatch_run(std::uint64_t key)
{
    const run* const of = find(key);
    if (of == nullptr) return;
    poll_.remove(of->first_process());
    poll_.remove(of->control());
    unwatch_changing(key);
}

void launcher::unwatch_changing(std::uint64_t key)
{
    const auto changing = watched_.find(key);
    if (changing == watched_.end()) return;
    poll_.replace(changing->second.refusals, -1, 0);
    poll_.replace(changing->second.figures, -1, 0);
    watched_.erase(changing);
}

void launcher::end(std::uint64_t key, run& over)
{
    unwatch_run(key);
    const bool begun = over.begun();
    const bool reported = over.reported();
    const ended_message ended = over.finish();
    const std::string why = over.failure();
    tell_findings(over);
    drop(key);
    if (begun && !reported) return send(encode_ended(ended));
    if (begun) return;
    for (const auto& pool : pools_) pool->lost(key, why);
}

void launcher::send(std::string message, unique_fd descriptor)
{
    packet& last = outbox_.emplace_back(packet{std::move(message), {}});
    if (descriptor) last.descriptors.push_back(std::move(descriptor));
    flush();
}

void launcher::flush()
try {
    while (!outbox_.empty()) {
        const packet& next = outbox_.front();
        const int number = next.descriptors.empty() ? -1 : next.descriptors.front().get();
        if (!send_packet(server_.get(), next.bytes, {&number, next.descriptors.size()})) break;
        outbox_.pop_front();
    }
    poll_.want_room(server_.get(), server_tag, !outbox_.empty());
} catch (const std::system_error&) {
    done_ = true;  // the server is gone
}

}  // namespace cmcp::sandbox
