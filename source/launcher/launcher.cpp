#include "launcher/launcher.hpp"

#include "jail/apparmor.hpp"
#include "jail/probe.hpp"
#include "jail/setup_step.hpp"
#include "launcher/server_wishes.hpp"
#include "launcher/standby_clones.hpp"
#include "launcher/standby_commands.hpp"
#include "posix/signals.hpp"

#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>

namespace cmcp::sandbox {
namespace {

// Tags of epoll: the server, the signals, the counts of workspaces, and four for each key, of which there is no 0.
constexpr std::uint64_t server_tag = 0;
constexpr std::uint64_t signal_tag = 1;
constexpr std::uint64_t count_tag = 2;
enum class key_event : std::uint64_t { ended, said, refused, zygote_said };
constexpr std::uint64_t key_tag(std::uint64_t key, key_event event)
{
    return key * 4 + static_cast<std::uint64_t>(event);
}

}  // namespace

launcher::launcher(unique_fd server, launcher_settings settings)
    : server_(std::move(server)),
      settings_(std::move(settings)),
      poll_(check(::epoll_create1(EPOLL_CLOEXEC), "make the event loop")),
      signals_(watch_signals({SIGTERM, SIGINT})),
      cgroups_(settings_.use_cgroups),
      filters_(cgroups_.active()),
      with_time_namespace_(::access("/proc/self/ns/time", F_OK) == 0),
      no_apparmor_(find_no_apparmor())
{
    check(signals_.get(), "watch signals");
    watch(server_.get(), server_tag);
    watch(signals_.get(), signal_tag);
    watch(workspaces_.readable(), count_tag);
    json::object facts = launcher_facts();  // before the launcher leaves the server's namespaces
    facts["cgroup_state"] = cgroups_.active() ? "on" : "off";
    facts["cgroup"] = cgroups_.reason();
    facts["watchdog"] = true;
    facts["workspace_quota"] = true;
    if (settings_.firejail.empty()) facts["apparmor"] = no_apparmor_;
    facts["privileged"] = ids_.privileged();
    facts["own_range"] = ids_.own_range();
    try {
        enter_place(facts);
    } catch (const step_failed& failure) {
        obstacle_ = explain_setup_failure(failure);
    }
    facts["obstacle"] = obstacle_;
    send(encode_text(message_kind::hello, json::serialize(facts)));
}

void launcher::enter_place(json::object& facts)
{
    if (settings_.firejail.empty()) {
        ids_.enter_own_namespaces();
        views_ = std::make_unique<view_store>();
        if (settings_.waiting != 0) pools_.push_back(std::make_unique<standby_commands>(own_, settings_.waiting));
        return;
    }
    firejail_ = std::make_unique<firejail>(settings_.firejail, ids_.privileged());
    facts["firejail"] = firejail_->version();
}

void launcher::watch(int fd, std::uint64_t tag)
{
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = tag;
    check(::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event), "watch a descriptor");
}

void launcher::serve()
{
    while (!done_) wait_and_handle();
    for (auto& [id, each] : runs_) each->kill(cause::cancelled);
    runs_.clear();
}

int launcher::milliseconds_to_next_event() const
{
    auto next = steady_time::max();
    for (const auto& pool : pools_) next = std::min(next, pool->next_event());
    for (const auto& [id, each] : runs_) next = std::min(next, each->next_event());
    if (next == steady_time::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - std::chrono::steady_clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

void launcher::wait_and_handle()
{
    epoll_event events[16];
    const int count = ::epoll_wait(poll_.get(), events, 16, milliseconds_to_next_event());
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

void launcher::look_at_runs()
{
    const auto now = std::chrono::steady_clock::now();
    for (auto& [key, each] : runs_)
        if (now >= each->next_event()) {
            each->look(now);
            watch_refusals(key, *each);
        }
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
    const std::uint64_t key = tag / 4;
    const auto event = static_cast<key_event>(tag % 4);
    if (event == key_event::zygote_said)
        for (const auto& pool : pools_) pool->hear_zygote(key);
    else if (find(key) != nullptr)
        event == key_event::ended ? end(key) : handle_run(key, event == key_event::refused);
}

void launcher::handle_run(std::uint64_t key, bool refused)
{
    run& of = *find(key);
    if (refused)
        of.hear_refusal();
    else if (!of.hear())
        ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, of.control(), nullptr);
    watch_refusals(key, of);
    for (const auto& pool : pools_)
        if (!of.begun()) pool->heard_of(key);
    if (of.over() && !of.reported()) send(encode_ended(of.report()));
}

void launcher::watch_refusals(std::uint64_t key, const run& of)
{
    int& watched = refusals_watched_.try_emplace(key, -1).first->second;
    const int wanted = of.refusals();
    if (watched == wanted) return;
    if (watched >= 0) ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, watched, nullptr);  // fails where it is closed already
    watched = wanted;
    if (wanted >= 0) watch(wanted, key_tag(key, key_event::refused));
}

void launcher::read_server()
{
    while (!done_) {
        auto message = receive_packet(server_.get());
        if (!message) return;
        if (message->bytes.empty())
            done_ = true;
        else
            take_message(std::move(*message));
    }
}

void launcher::take_message(packet message)
{
    const auto kind = kind_of(message.bytes);
    if (kind == message_kind::start || kind == message_kind::start_in_memfd) return receive_start(std::move(message));
    if (kind == message_kind::cancel) return cancel(decode_cancel(message.bytes));
    if (kind == message_kind::prepare && !keeps_python_) prepare(decode_prepare(message.bytes));
}

void launcher::prepare(zygote_options options)
try {
    if (!obstacle_.empty() || firejail_)
        return tell_off(obstacle_.empty() ? "Firejail starts every run anew" : obstacle_);
    check_zygote(options.path);
    options.path = views_->protected_program(options.path);
    keeps_python_ = true;
    add_clones(std::move(options));
} catch (const step_failed& failure) {
    tell_off(explain_setup_failure(failure));
}

void launcher::tell_off(const std::string& why)
{
    tell(json::serialize(json::object{{"state", "off"}, {"detail", why}}));
}

// With the profile "auto" a second pool, asked first, serves the runs that use the libraries for data.
void launcher::add_clones(zygote_options options)
{
    using role = standby_clones::role;
    const bool both = options.profile == "auto";
    if (both) options.profile = "stdlib";
    pools_.insert(pools_.begin(), std::make_unique<standby_clones>(own_, options, role::main));
    if (!both) return;
    options.profile = "data";
    pools_.insert(pools_.begin(), std::make_unique<standby_clones>(own_, std::move(options), role::data));
}

void launcher::cancel(std::uint64_t id)
{
    const auto waited = [id](const uncounted_start& each) { return each.start.id == id; };
    bool waits = std::erase_if(uncounted_, waited) != 0;
    for (const auto& pool : pools_) waits = pool->cancel(id) || waits;
    if (waits) {
        ended_message ended{id, {}};
        ended.result.why = cause::cancelled;
        return send(encode_ended(ended));
    }
    for (auto& [key, each] : runs_)
        if (each->begun() && each->id() == id) return each->kill(cause::cancelled);
}

shared_parts launcher::parts()
{
    const bool with_apparmor = no_apparmor_.empty() && !firejail_;
    return {ids_, views_.get(), workspaces_, cgroups_, filters_, with_time_namespace_, with_apparmor, firejail_.get()};
}

void launcher::watch_zygote(std::uint64_t key, int socket) { watch(socket, key_tag(key, key_event::zygote_said)); }

void launcher::keep(std::uint64_t key, std::unique_ptr<run> kept)
try {
    const bool has_process = kept->pidfd() >= 0;
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
    runs_.erase(key);
    refusals_watched_.erase(key);
}

void launcher::watch_run(std::uint64_t key)
{
    const run& of = *runs_.at(key);
    watch(of.pidfd(), key_tag(key, key_event::ended));
    watch(of.control(), key_tag(key, key_event::said));
}

void launcher::receive_start(packet message)
{
    start_message start = decode_start(take_body(message));
    if (!obstacle_.empty()) return refuse(start.id, obstacle_);
    if (const std::string why = refuse_workspace(start.request.workspace, settings_.workspaces); !why.empty())
        return refuse(start.id, why);
    if (must_be_counted(start))
        uncounted_.push_back({std::move(start), std::move(message.descriptors)});
    else
        this->start(std::move(start), std::move(message.descriptors));
}

bool launcher::must_be_counted(const start_message& start)
try {
    const unique_fd folder = open_bounded_workspace(start.request);
    if (!folder) return false;
    const auto key = workspace_ledger::key_of(folder.get());
    return workspaces_.must_wait(key, folder.get(), workspace_bounds(start.request.limits));
} catch (const step_failed&) {
    return false;  // the start meets the same obstacle and tells it
}

void launcher::start_counted()
{
    workspaces_.collect();
    std::deque<uncounted_start> starts;
    starts.swap(uncounted_);
    for (auto& each : starts) {
        if (must_be_counted(each.start))
            uncounted_.push_back(std::move(each));
        else
            start(std::move(each.start), std::move(each.descriptors));
    }
}

void launcher::start(start_message start, std::vector<unique_fd> descriptors)
{
    for (const auto& pool : pools_)
        if (pool->take(start, descriptors)) return;
    start_cold(std::move(start), std::move(descriptors));
}

void launcher::start_cold(start_message start, std::vector<unique_fd> descriptors)
try {
    const std::uint64_t key = next_key();
    auto cold = std::make_unique<run>(parts(), key, start.request, start.probe);
    cold->launch(start, std::move(descriptors));
    keep(key, std::move(cold));
} catch (const std::exception& failure) {
    refuse(start.id, explain_setup_failure(failure));
}

void launcher::refuse(std::uint64_t id, const std::string& why)
{
    ended_message ended{id, {}};
    ended.result.error = why;
    send(encode_ended(ended));
}

void launcher::end(std::uint64_t key)
{
    run& over = *runs_.at(key);
    const bool begun = over.begun();
    const bool reported = over.reported();
    const ended_message ended = over.finish();
    const std::string why = over.failure();
    drop(key);
    if (begun && !reported) return send(encode_ended(ended));
    if (begun) return;
    for (const auto& pool : pools_) pool->lost(key, why);
}

void launcher::send(std::string message)
{
    outbox_.push_back(std::move(message));
    flush();
}

void launcher::flush()
try {
    while (!outbox_.empty() && send_packet(server_.get(), outbox_.front())) outbox_.pop_front();
    epoll_event event{};
    event.events = outbox_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT;
    event.data.u64 = server_tag;
    ::epoll_ctl(poll_.get(), EPOLL_CTL_MOD, server_.get(), &event);
} catch (const std::system_error&) {
    done_ = true;  // the server is gone
}

}  // namespace cmcp::sandbox
