#include "launcher/watched_descriptors.hpp"

#include "facilities/setup_step.hpp"

#include <sys/epoll.h>

namespace cmcp::sandbox {
namespace {

epoll_event event_of(std::uint32_t events, std::uint64_t tag)
{
    epoll_event event{};
    event.events = events;
    event.data.u64 = tag;
    return event;
}

}  // namespace

watched_descriptors::watched_descriptors() : poll_(check(::epoll_create1(EPOLL_CLOEXEC), "make the event loop")) {}

void watched_descriptors::add(int fd, std::uint64_t tag)
{
    epoll_event event = event_of(EPOLLIN, tag);
    check(::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event), "watch a descriptor");
}

void watched_descriptors::remove(int fd)
{
    if (fd >= 0) ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void watched_descriptors::replace(int& now, int wanted, std::uint64_t tag)
{
    if (now == wanted) return;
    remove(now);
    now = wanted;
    if (wanted >= 0) add(wanted, tag);
}

void watched_descriptors::want_room(int fd, std::uint64_t tag, bool wanted)
{
    epoll_event event = event_of(wanted ? EPOLLIN | EPOLLOUT : EPOLLIN, tag);
    ::epoll_ctl(poll_.get(), EPOLL_CTL_MOD, fd, &event);
}

int watched_descriptors::wait(epoll_event* events, int most, int patience_ms)
{
    return ::epoll_wait(poll_.get(), events, most, patience_ms);
}

}  // namespace cmcp::sandbox
