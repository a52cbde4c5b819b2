#include "server/service_notice.hpp"

#include "log/log.hpp"
#include "text/number.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace cmcp::command {

namespace {

std::string take_variable(const char* name)
{
    const char* value = std::getenv(name);
    std::string text = value == nullptr ? "" : value;
    ::unsetenv(name);
    return text;
}

// "@name" is in the abstract namespace, where a name begins with NUL (unix(7)).
unique_fd connected_to(const std::string& place)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const bool usable = !place.empty() && (place.front() == '/' || place.front() == '@');
    if (!usable || place.size() >= sizeof address.sun_path) return {};
    place.copy(address.sun_path, place.size());
    const bool abstract = place.front() == '@';
    if (abstract) address.sun_path[0] = '\0';
    const auto length = offsetof(sockaddr_un, sun_path) + place.size() + (abstract ? 0 : 1);
    unique_fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const auto* to = reinterpret_cast<const sockaddr*>(&address);
    if (socket && ::connect(socket.get(), to, static_cast<socklen_t>(length)) == 0) return socket;
    log::warning("service_manager_not_told", {{"socket", place}, {"error", std::strerror(errno)}});
    return {};
}

// The variable may be meant for another process, whose number it says then.
std::chrono::microseconds watchdog_time(const std::string& time, const std::string& process)
{
    const bool is_ours = process.empty() || process == std::to_string(::getpid());
    return std::chrono::microseconds(is_ours ? read_number<std::int64_t>(time).value_or(0) : 0);
}

std::int64_t monotonic_usec()
{
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

}  // namespace

service_notice::service_notice()
    : socket_(connected_to(take_variable("NOTIFY_SOCKET"))),
      watchdog_(watchdog_time(take_variable("WATCHDOG_USEC"), take_variable("WATCHDOG_PID")))
{
}

void service_notice::send(std::string_view text) const
{
    if (socket_) ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

void service_notice::ready() const { send("READY=1"); }

void service_notice::reloading() const { send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(monotonic_usec())); }

void service_notice::stopping() const { send("STOPPING=1"); }

awaitable<> service_notice::keep_alive() const
{
    if (!socket_ || watchdog_.count() <= 0) co_return;
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor);
    for (;;) {
        send("WATCHDOG=1");
        timer.expires_after(watchdog_ / 2);
        co_await timer.async_wait(asio::use_awaitable);
    }
}

}  // namespace cmcp::command
