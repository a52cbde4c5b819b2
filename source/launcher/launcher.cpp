#include "launcher/launcher.hpp"

#include "jail/probe.hpp"
#include "jail/setup_step.hpp"
#include "launcher/own_place.hpp"
#include "launcher/server_wishes.hpp"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>

namespace cmcp::sandbox {
namespace {

// Tags of epoll: the server, the signals, the counts of workspaces, and three for each run; prepared_runs has some far
// above.
constexpr std::uint64_t server_tag = 0;
constexpr std::uint64_t signal_tag = 1;
constexpr std::uint64_t count_tag = 2;
enum class run_event : std::uint64_t { ended, said, refused };
constexpr std::uint64_t run_tag(std::uint64_t id, run_event what)
{
    return (id + 1) * 4 + static_cast<std::uint64_t>(what);
}

unique_fd watch_signals()
{
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGTERM);
    ::sigaddset(&set, SIGINT);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    return unique_fd(check(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), "watch signals"));
}

}  // namespace

launcher::launcher(unique_fd server, launcher_settings chosen)
    : server_(std::move(server)),
      chosen_(std::move(chosen)),
      poll_(check(::epoll_create1(EPOLL_CLOEXEC), "make the event loop")),
      signals_(watch_signals()),
      cgroups_(chosen_.use_cgroups),
      filters_(cgroups_.active()),
      with_time_namespace_(::access("/proc/self/ns/time", F_OK) == 0),
      no_apparmor_(find_no_apparmor()),
      commands_(*this, chosen_.firejail.empty() ? chosen_.waiting : 0)
{
    watch(server_.get(), server_tag);
    watch(signals_.get(), signal_tag);
    watch(workspaces_.readable(), count_tag);
    json::object facts = launcher_facts();  // before the launcher leaves the server's namespaces
    facts["cgroup_state"] = cgroups_.active() ? "on" : "off";
    facts["cgroup"] = cgroups_.reason();
    facts["watchdog"] = true;
    facts["workspace_quota"] = true;
    if (chosen_.firejail.empty()) facts["apparmor"] = no_apparmor_;
    facts["privileged"] = ids_.privileged();
    facts["own_range"] = ids_.own_range();
    try {
        enter_place(facts);
    } catch (const step_failed& failure) {
        obstacle_ = explain_setup_failure(failure.what(), failure.error);
    }
    facts["obstacle"] = obstacle_;
    send(encode_hello(json::serialize(facts)));
}

void launcher::enter_place(json::object& facts)
{
    if (chosen_.firejail.empty()) {
        enter_own_namespaces(ids_);
        views_ = std::make_unique<view_store>();
        return;
    }
    firejail_ = std::make_unique<firejail>(chosen_.firejail, ids_.privileged());
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
    auto next = std::min(commands_.next_event(), prepared_ ? prepared_->next_event() : steady_time::max());
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
    if (prepared_ && now >= prepared_->next_event()) prepared_->look(now, running());
    if (now >= commands_.next_event()) commands_.look(now, running());
}

void launcher::handle(std::uint64_t tag)
{
    if (tag == server_tag) return read_server();
    if (tag == signal_tag) {
        done_ = true;
        return;
    }
    if (tag == count_tag) {
        workspaces_.collect();
        for (auto& each : on_hold_.take_ready()) start(std::move(each.wanted), std::move(each.descriptors));
        return;
    }
    if (tag >= prepared_runs::first_tag) {
        if (prepared_) prepared_->handle(tag);
        return;
    }
    const std::uint64_t key = tag / 4 - 1;
    run* const of = find(key);
    if (of == nullptr) return;
    if (tag == run_tag(key, run_event::ended)) return end(key);
    if (tag == run_tag(key, run_event::refused))
        of->hear_refusal();
    else if (!of->hear())
        ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, of->control(), nullptr);
    watch_refusals(key, *of);
    if (prepared_ && !of->begun()) prepared_->heard_of(key);
    if (!of->begun()) commands_.heard_of(key);
    if (of->begun() && of->over() && !of->reported()) send(encode_ended(of->report()));
}

void launcher::watch_refusals(std::uint64_t key, const run& of)
{
    int& watched = refusals_watched_.try_emplace(key, -1).first->second;
    const int wanted = of.refusals();
    if (watched == wanted) return;
    if (watched >= 0) ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, watched, nullptr);  // fails where it is closed already
    watched = wanted;
    if (wanted >= 0) watch(wanted, run_tag(key, run_event::refused));
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
    if (kind == message_kind::prepare && !prepared_) prepare(decode_prepare(message.bytes));
}

void launcher::prepare(zygote_options wanted)
try {
    if (!obstacle_.empty()) return tell(json::serialize(json::object{{"state", "off"}, {"detail", obstacle_}}));
    if (firejail_) return tell(R"({"state": "off", "detail": "Firejail starts every run anew"})");
    check_zygote(wanted.path);
    wanted.path = views_->protected_program(wanted.path);
    prepared_ = std::make_unique<prepared_profiles>(static_cast<run_keeper&>(*this), std::move(wanted));
} catch (const step_failed& failure) {
    const std::string why = explain_setup_failure(failure.what(), failure.error);
    tell(json::serialize(json::object{{"state", "off"}, {"detail", why}}));
}

void launcher::cancel(std::uint64_t id)
{
    if (on_hold_.cancel(id) || (prepared_ && prepared_->cancel(id))) return report_cancelled(id);
    for (auto& [key, each] : runs_)
        if (each->id() == id) return each->kill(cause::cancelled);
}

run* launcher::find(std::uint64_t key)
{
    const auto found = runs_.find(key);
    return found == runs_.end() ? nullptr : found->second.get();
}

void launcher::drop(std::uint64_t key)
{
    runs_.erase(key);
    refusals_watched_.erase(key);
}

void launcher::watch_run(std::uint64_t key)
{
    const run& made = *runs_.at(key);
    watch(made.pidfd(), run_tag(key, run_event::ended));
    watch(made.control(), run_tag(key, run_event::said));
}

void launcher::receive_start(packet message)
{
    start_message wanted = decode_start(take_body(message));
    if (!obstacle_.empty()) return refuse(wanted.id, obstacle_);
    if (const std::string why = refuse_workspace(wanted.request.workspace, chosen_.workspaces); !why.empty())
        return refuse(wanted.id, why);
    if (on_hold_.must_wait(wanted))
        on_hold_.add({std::move(wanted), std::move(message.descriptors)});
    else
        start(std::move(wanted), std::move(message.descriptors));
}

void launcher::report_cancelled(std::uint64_t id)
{
    ended_message ended{id, {}};
    ended.result.why = cause::cancelled;
    send(encode_ended(ended));
}

void launcher::start(start_message wanted, std::vector<unique_fd> descriptors)
{
    if (prepared_ && prepared_->take(wanted, descriptors)) return;
    if (commands_.take(wanted, descriptors)) return;
    start_cold(std::move(wanted), std::move(descriptors));
}

void launcher::start_cold(start_message wanted, std::vector<unique_fd> descriptors)
{
    const std::uint64_t id = wanted.id;
    try {
        workshop tools = shop();
        runs_.emplace(id, std::make_unique<run>(tools, std::move(wanted), std::move(descriptors)));
        watch_run(id);
    } catch (const step_failed& failure) {
        refuse(id, explain_setup_failure(failure.what(), failure.error));
    } catch (const std::exception& failure) {
        refuse(id, explain_setup_failure(failure.what(), 0));
    }
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
    if (!begun) commands_.lost(key);
    if (!begun && prepared_) prepared_->lost(key, why);
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
