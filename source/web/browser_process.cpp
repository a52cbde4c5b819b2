#include "web/browser_process.hpp"

#include "async/with_deadline.hpp"
#include "jail/sealed_memory.hpp"
#include "jail/setup_step.hpp"
#include "log/log.hpp"
#include "posix/child_process.hpp"
#include "wire/packet_socket.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <fcntl.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>
#include <system_error>

namespace cmcp {
namespace {

using host_event = browser_host_protocol::event;
using browser_host_protocol::event_message;
using local_socket = asio::local::stream_protocol::socket;

std::pair<unique_fd, unique_fd> stream_pair()
{
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        throw browser_unavailable(std::string("The browser cannot be started: ") + std::strerror(errno) + ".");
    return {unique_fd(ends[0]), unique_fd(ends[1])};
}

awaitable<> wait_until_readable(asio::any_io_executor executor, int fd)
{
    asio::posix::stream_descriptor copy(executor, ::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    co_await copy.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
}

std::string last_line(const std::string& text)
{
    const std::string_view whole = std::string_view(text).substr(0, text.find_last_not_of("\n ") + 1);
    return std::string(whole.substr(whole.rfind('\n') + 1));  // npos + 1 is 0
}

std::string describe_failure(const event_message& message)
{
    if (message.step.starts_with("find a user"))
        return "The browser cannot be started as root here: this container has no spare user ids. Run the server as an "
               "ordinary user, or give the container a range of ids.";
    if (message.step.starts_with(browser_host_protocol::own_sandbox_step))
        return std::string(
                   "The browser is not started: Chromium cannot make its own sandbox here, because no further "
                   "user namespace can be made inside (") +
               std::strerror(message.error) +
               "). Permit user namespaces on this machine, or leave browser_sandbox out of SANDBOX_REQUIRE to browse "
               "without this layer. web_scrape reads pages that need no JavaScript.";
    if (message.step == "mount /proc")
        return "The browser cannot be started: the container's /proc is masked. Run it with an unmasked /proc (Podman: "
               "--security-opt unmask=/proc/*), or outside a container.";
    return "The browser cannot be started. " + sandbox::explain_setup_failure(message.step, message.error);
}

std::string describe_end(const event_message& message)
{
    const int status = message.status;
    if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
    std::string how = "exit code " + std::to_string(WEXITSTATUS(status));
    const std::string said = last_line(message.step);
    return how + (said.empty() ? "" : ": " + said);
}

// Told what to start. Throws std::system_error.
sandbox::launcher_process start_host(const std::string& path, const browser_host_protocol::start_message& start,
                                     const std::string& policy, const unique_fd& stream)
{
    const unique_fd policy_file = sandbox::sealed_memory("policy", policy);
    auto host = sandbox::start_launcher(path);
    const int descriptors[] = {stream.get(), policy_file.get()};
    sandbox::send_packet(host.socket.get(), sandbox::encoded(start), descriptors);
    return host;
}

void end_host(sandbox::launcher_process* host)
{
    if (!host->pidfd) return;
    kill_process(host->pidfd.get());
    collect_process(host->pidfd.get());
    host->pidfd.reset();
}

sandbox::layer judged(int host)
{
    constexpr int patience_ms = 10'000;
    const auto answer = sandbox::wait_for_packet(host, patience_ms);
    if (!answer) return {{}, sandbox::layer::state::off, "the trial gave no answer"};
    const auto message = sandbox::decoded<event_message>(answer->bytes);
    if (message.what != host_event::ready) return {{}, sandbox::layer::state::off, describe_failure(message)};
    return {{},
            sandbox::layer::state::on,
            "Chromium can make its own sandbox inside of the server's, which filters its calls"};
}

}  // namespace

sandbox::layer try_browser_sandbox(const std::string& host_path, const std::string& program)
try {
    const browser_host_protocol::start_message start{.argv = {program}, .files = 1 << 20, .trial = true};
    auto [ours, theirs] = stream_pair();
    auto host = start_host(host_path, start, "{}", theirs);
    const std::unique_ptr<sandbox::launcher_process, decltype(&end_host)> until_judged(&host, &end_host);
    return judged(host.socket.get());
} catch (const std::exception& failure) {
    return {{}, sandbox::layer::state::off, std::string("it cannot be tried: ") + failure.what()};
}

browser_process::browser_process(asio::any_io_executor executor, const std::string& host_path,
                                 const browser_host_protocol::start_message& start, const std::string& policy)
    : executor_(executor), control_(executor), stream_(executor)
{
    auto [ours, theirs] = stream_pair();
    try {
        host_ = start_host(host_path, start, policy, theirs);
    } catch (const std::system_error& failure) {
        throw browser_unavailable("The browser cannot be started: " + std::string(failure.what()) + ".");
    }
    control_.assign(host_.socket.release());
    stream_.assign(asio::local::stream_protocol(), ours.release());
}

browser_process::~browser_process() { kill(); }

void browser_process::kill() { end_host(&host_); }

awaitable<event_message> browser_process::next_event()
{
    for (;;) {
        auto received = sandbox::receive_packet(control_.native_handle());
        if (!received) {
            co_await control_.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
            continue;
        }
        event_message message;
        message.what = host_event::ended;
        message.status = SIGKILL;
        if (!received->bytes.empty()) message = sandbox::decoded<event_message>(received->bytes);
        if (message.what == host_event::ready) adopt_listeners(std::move(received->descriptors));
        co_return message;
    }
}

void browser_process::adopt_listeners(std::vector<unique_fd> descriptors)
{
    for (auto& fd : descriptors) {
        listeners_.emplace_back(executor_);
        listeners_.back().assign(asio::ip::tcp::v4(), fd.release());
    }
}

awaitable<> browser_process::started()
{
    auto message = co_await next_event();
    if (message.what == host_event::failed) throw browser_unavailable(describe_failure(message));
    if (message.what != host_event::ready)
        throw browser_unavailable("The browser ended while it was being started (" + describe_end(message) + ").");
    own_sandbox_ = message.own_sandbox;
}

awaitable<std::string> browser_process::ended()
{
    for (;;) {
        auto message = co_await next_event();
        if (message.what == host_event::failed) co_return describe_failure(message);
        if (message.what == host_event::ended) co_return describe_end(message);
        if (message.what != host_event::killed) continue;
        log::warning("browser_memory_limit", {{"advice", "the largest process was ended; WEB_BROWSER_MEMORY_LIMIT"}});
    }
}

awaitable<> browser_process::stop(std::chrono::milliseconds limit)
{
    if (!host_.pidfd) co_return;
    boost::system::error_code ignored;
    control_.close(ignored);
    auto over = wait_until_readable(executor_, host_.pidfd.get());
    try {
        co_await with_deadline(std::move(over), limit);
    } catch (const deadline_exceeded&) {
        log::warning("browser_did_not_stop", {{"pid", host_.pid}});
    }
}

}  // namespace cmcp
