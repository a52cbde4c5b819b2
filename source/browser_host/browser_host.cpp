#include "browser_host/browser_host.hpp"

#include "jail/identities.hpp"
#include "jail/sealed_memory.hpp"
#include "jail/setup_step.hpp"
#include "posix/bytes.hpp"
#include "posix/child_process.hpp"
#include "wire/packet_socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

namespace cmcp::browser_host {
namespace {

using namespace sandbox;
using browser_host_protocol::event;
using browser_host_protocol::event_message;

constexpr std::size_t error_kept = 4096;
constexpr unsigned identity_of_first = 1023;  // the last of the range: runs take the lowest that is free

}  // namespace

host::~host()
{
    if (!child_.pidfd) return;
    kill_process(child_.pidfd.get());
    collect_process(child_.pidfd.get());
}

void host::serve()
try {
    launch(receive_plan());
    watch();
} catch (const step_failed& failure) {
    tell({.error = failure.error, .step = failure.what()});
}

jail_plan host::receive_plan()
{
    auto received = await_packet(server_.get());
    if (received.bytes.empty()) throw step_failed("hear from the server", ECONNRESET);
    if (received.descriptors.size() != 2) throw step_failed("receive descriptors", EBADMSG);
    jail_plan plan;
    plan.start = decoded<browser_host_protocol::start_message>(received.bytes);
    plan.stream = std::move(received.descriptors[0]);
    plan.policy = read_memory(received.descriptors[1].get(), "read the policy");
    memory_limit_ = plan.start.memory;
    proxies_ = plan.start.proxies;
    return plan;
}

void host::launch(jail_plan plan)
{
    const identities ids;
    if (ids.privileged() && !ids.own_range()) throw step_failed("find a user for the browser", ERANGE);
    if (plan.start.number >= browser_host_protocol::most_browsers)
        throw step_failed("find a user for the browser", EINVAL);
    plan.outside = ids.outside(identity_of_first - plan.start.number);
    plan.maps_itself = !ids.privileged();
    auto [ours, theirs] = packet_socket_pair();
    auto [reading, writing] = make_pipe(O_NONBLOCK);
    check(reading.get(), "make a pipe");
    plan.control = std::move(theirs);
    plan.error = std::move(writing);
    child_ = clone_into_namespaces(all_namespaces(false), -1);
    if (child_.pid == 0) {
        server_.reset();
        ours.reset();
        become_browser(plan);
    }
    control_ = std::move(ours);
    error_ = std::move(reading);
    if (ids.privileged()) write_id_maps(std::to_string(child_.pid), inside_ids, plan.outside, false);
    send_packet(control_.get(), "g");
}

void host::watch()
{
    for (;;) {
        pollfd all[] = {{server_.get(), POLLIN, 0}, {control_.get(), POLLIN, 0}, {error_.get(), POLLIN, 0}};
        const int ready = ::poll(all, error_ ? 3 : 2, milliseconds_to_next_look());
        if (ready < 0 && errno != EINTR) return;
        if (ready <= 0) {
            look_at_memory();
            continue;
        }
        if (error_ && all[2].revents != 0) read_error();
        if (all[1].revents != 0 && !hear_browser()) return;
        if (all[0].revents != 0) return;  // the server is gone, or done with this browser
    }
}

int host::milliseconds_to_next_look() const
{
    if (!meter_) return -1;
    return used_ > memory_limit_ / 2 ? 50 : 250;
}

void host::look_at_memory()
{
    used_ = meter_.measure(memory_limit_).memory;
    if (used_ <= memory_limit_) return;
    // Somewhat below the limit, or many small processes would be ended one a look while others are started.
    meter_.end_largest(used_ - memory_limit_ + memory_limit_ / 8);
    tell({.what = event::killed});
}

void host::read_error()
{
    char bytes[4096];
    const ssize_t length = ::read(error_.get(), bytes, sizeof bytes);
    if (length == 0) error_.reset();
    if (length <= 0) return;
    error_tail_.append(bytes, static_cast<std::size_t>(length));
    if (error_tail_.size() > error_kept) error_tail_.erase(0, error_tail_.size() - error_kept);
}

bool host::hear_browser()
{
    auto heard = receive_packet(control_.get());
    if (!heard) return true;
    event_message message{.what = event::ended, .status = SIGKILL};
    if (!heard->bytes.empty()) message = decoded<event_message>(heard->bytes);
    if (message.what == event::ended) {
        if (error_) read_error();
        message.step = error_tail_;
    }
    auto& fds = heard->descriptors;
    if (message.what != event::ready || fds.size() != proxies_ + 3) {
        tell(message);
        return false;
    }
    std::vector<int> listeners;
    for (std::uint32_t i = 0; i < proxies_; ++i) listeners.push_back(fds[i].get());
    tell(message, listeners);
    meter_ = usage_meter(usage_sources::from(std::span(fds).subspan(proxies_)));
    return true;
}

void host::tell(const event_message& message, std::span<const int> descriptors)
{
    try {
        send_packet(server_.get(), encoded(message), descriptors);
    } catch (const std::system_error&) {
        // The server is gone: watch() sees it next.
    }
}

}  // namespace cmcp::browser_host
